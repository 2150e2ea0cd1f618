import { Fragment, h } from "../vendor.js";
import { go } from "../live/route.js";

/**
 * @import { CheckpointEntry, Run } from "../contract.ts"
 * @import { Asked } from "./verify.js"
 */

/** @typedef {Event & { currentTarget: HTMLSelectElement }} SelectEvent */
/** @typedef {Event & { currentTarget: HTMLTextAreaElement }} AreaEvent */

/**
 * Whom to ask, and what.
 *
 * @param {object} props
 * @param {readonly Run[]} props.runs
 * @param {string} props.run the one that is asked
 * @param {readonly CheckpointEntry[]} props.checkpoints of it
 * @param {number | null} props.step of the checkpoint; null for the newest
 * @param {Asked} props.asked
 * @param {(changes: Partial<Asked>) => void} props.onChange
 */
export function VerifyFields({ runs, run, checkpoints, step, asked, onChange }) {
  const steps = checkpoints.map(({ step }) => String(step)).reverse();
  return h(
    Fragment,
    null,
    h(
      "div",
      { class: "fields" },
      h(
        "label",
        { class: "field" },
        "Run",
        h(
          "select",
          {
            value: run,
            onChange: (/** @type {SelectEvent} */ { currentTarget }) =>
              go({ runs: [currentTarget.value], step: null }),
          },
          runs.map(({ id }) => h("option", { key: id, value: id, selected: id === run }, id)),
        ),
      ),
      h(
        "label",
        { class: "field" },
        "As it was after",
        h(
          "select",
          {
            value: step === null ? "" : String(step),
            onChange: (/** @type {SelectEvent} */ { currentTarget: { value } }) =>
              go({ step: value === "" ? null : Number(value) }),
          },
          h("option", { value: "" }, "the newest checkpoint"),
          steps.map((one) =>
            h("option", { key: one, value: one, selected: one === String(step) }, `step ${one}`)
          ),
        ),
      ),
    ),
    h(Area, {
      label: "Problem",
      rows: 3,
      value: asked.problem,
      onInput: (problem) => onChange({ problem }),
    }),
    h(Area, {
      label: "Solution",
      hint: "Empty: the generator writes one. In its format: " +
        "<think><step>…</step></think><answer>\\boxed{…}</answer>",
      rows: 6,
      value: asked.solution,
      onInput: (solution) => onChange({ solution }),
    }),
  );
}

/**
 * @param {object} props
 * @param {string} props.label
 * @param {string} [props.hint]
 * @param {number} props.rows
 * @param {string} props.value
 * @param {(value: string) => void} props.onInput
 */
function Area({ label, hint, rows, value, onInput }) {
  const id = `verify-${label.toLowerCase()}`;
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    h("textarea", {
      id,
      rows,
      value,
      spellcheck: false,
      "aria-describedby": hint === undefined ? undefined : `${id}-hint`,
      onInput: (/** @type {AreaEvent} */ { currentTarget }) => onInput(currentTarget.value),
    }),
    hint === undefined ? null : h("p", { class: "hint", id: `${id}-hint` }, hint),
  );
}
