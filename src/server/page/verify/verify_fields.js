import { Fragment, h } from "../vendor.js";

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
 * @param {readonly CheckpointEntry[]} props.checkpoints
 * @param {Asked} props.asked
 * @param {(changes: Partial<Asked>) => void} props.onChange
 */
export function VerifyFields({ runs, checkpoints, asked, onChange }) {
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
            value: asked.run,
            onChange: (/** @type {SelectEvent} */ { currentTarget }) =>
              onChange({ run: currentTarget.value, checkpoint: "" }),
          },
          runs.map(({ id }) => h("option", { key: id, value: id, selected: id === asked.run }, id)),
        ),
      ),
      h(
        "label",
        { class: "field" },
        "As it was after",
        h(
          "select",
          {
            value: asked.checkpoint,
            onChange: (/** @type {SelectEvent} */ { currentTarget }) =>
              onChange({ checkpoint: currentTarget.value }),
          },
          h("option", { value: "" }, "the newest checkpoint"),
          steps.map((step) => h("option", { key: step, value: step }, `step ${step}`)),
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
