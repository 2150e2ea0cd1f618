import { h, useState } from "../vendor.js";
import { runPath, send } from "../live/api.js";
import { useLoaded } from "../live/use_loaded.js";
import { Failure } from "../parts/failure.js";
import { SampleCard } from "../samples/sample_card.js";

/**
 * @import { CheckpointEntry, Run, Sample } from "../contract.ts"
 */

const EXAMPLE = "<think><step>…</step></think><answer>\\boxed{…}</answer>";

/**
 * A problem and a solution for a run's verifier to judge.
 *
 * @param {{ runs: Run[], shown: string | null }} props
 */
export function Verify({ runs, shown }) {
  const [id, setId] = useState(shown ?? "");
  const [step, setStep] = useState("");
  const [problem, setProblem] = useState("");
  const [solution, setSolution] = useState("");
  const [sample, setSample] = useState(/** @type {Sample | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  const chosen = id === "" ? shown ?? "" : id;
  /** @type {{ answer: { checkpoints: CheckpointEntry[] } | null, error: Error | null }} */
  const { answer } = useLoaded(chosen === "" ? null : runPath(chosen, "checkpoints"));

  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const body = {
        run: chosen,
        checkpoint: step === "" ? null : Number(step),
        problem,
        solution,
      };
      setSample(await (await send("POST", "/api/verify", { body })).json());
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
    }
    setBusy(false);
  };
  return h(
    "article",
    { class: "verify", "aria-labelledby": "verify-title" },
    h("h1", { id: "verify-title" }, "Verify a solution"),
    h(
      "form",
      { onSubmit: submit },
      h(
        "div",
        { class: "fields" },
        h(Choice, {
          label: "Run",
          value: chosen,
          options: runs.map((run) => /** @type {const} */ ([run.id, run.id])),
          onChange: (value) => {
            setId(value);
            setStep("");
          },
        }),
        h(Choice, {
          label: "Checkpoint",
          value: step,
          options: [
            ["", "the newest"],
            ...(answer?.checkpoints ?? []).map((
              one,
            ) => /** @type {const} */ ([String(one.step), `step ${one.step}`])),
          ],
          onChange: setStep,
        }),
      ),
      h(Area, { label: "Problem", value: problem, onInput: setProblem, rows: 3 }),
      h(Area, {
        label: "Solution",
        value: solution,
        onInput: setSolution,
        rows: 8,
        placeholder: EXAMPLE,
      }),
      h("button", {
        type: "submit",
        class: "primary",
        disabled: isBusy || chosen === "" || problem === "" || solution === "",
      }, isBusy ? "Verifying …" : "Verify"),
    ),
    h(Failure, { error }),
    h(
      "div",
      { "aria-live": "polite" },
      sample === null ? null : h(SampleCard, { sample, colour: "judgment" }),
    ),
  );
}

/**
 * @param {{ label: string, value: string, options: readonly (readonly [string, string])[], onChange: (value: string) => void }} props
 */
function Choice({ label, value, options, onChange }) {
  return h(
    "label",
    { class: "field" },
    label,
    h(
      "select",
      {
        value,
        onChange: (/** @type {Event & { currentTarget: HTMLSelectElement }} */ { currentTarget }) =>
          onChange(currentTarget.value),
      },
      options.map(([name, text]) =>
        h("option", { key: name, value: name, selected: name === value }, text)
      ),
    ),
  );
}

/**
 * @param {{ label: string, value: string, onInput: (value: string) => void, rows: number, placeholder?: string }} props
 */
function Area({ label, value, onInput, rows, placeholder }) {
  return h(
    "label",
    { class: "field" },
    label,
    h("textarea", {
      rows,
      value,
      placeholder,
      spellcheck: false,
      onInput: (/** @type {Event & { currentTarget: HTMLTextAreaElement }} */ { currentTarget }) =>
        onInput(currentTarget.value),
    }),
  );
}
