import { h, useRef, useState } from "../vendor.js";
import { runPath, send } from "../live/api.js";
import { jsonLines } from "../live/json_lines.js";
import { useLoaded } from "../live/use_loaded.js";
import { Failure } from "../parts/failure.js";
import { hasBegun } from "../run/states.js";
import { Judged } from "./judged.js";
import { VerifyFields } from "./verify_fields.js";

/**
 * @import { CheckpointEntry, JudgedSolution, Run, VerifyLine } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 */

/**
 * @typedef {object} Asked
 * @property {string} problem
 * @property {string} solution "" lets the generator write one
 */

/**
 * A problem, and a solution if one likes, for a run's policies: what they write streams in.
 *
 * @param {{ runs: Run[], route: PageState }} props
 */
export function Verify({ runs, route }) {
  const judging = runs.filter((run) => run.kind === "train" && hasBegun(run));
  const [asked, setAsked] = useState({ problem: "", solution: "" });
  const [texts, setTexts] = useState({ solution: "", critique: "" });
  const [judged, setJudged] = useState(/** @type {JudgedSolution | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const abort = useRef(/** @type {AbortController | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  const run = (judging.find(({ id }) => id === route.runs[0]) ?? judging[0])?.id ?? "";
  /** @type {{ answer: { checkpoints: CheckpointEntry[] } | null, error: Error | null }} */
  const { answer } = useLoaded(run === "" ? null : runPath(run, "checkpoints"), stepOf(runs, run));
  const checkpoints = answer?.checkpoints ?? [];
  // One that is gone meanwhile is not asked.
  const step = checkpoints.some((one) => one.step === route.step) ? route.step : null;

  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    const ending = new AbortController();
    abort.current = ending;
    setBusy(true);
    setError(null);
    setJudged(null);
    setTexts({ solution: asked.solution, critique: "" });
    const body = {
      run,
      problem: asked.problem,
      checkpoint: step,
      solution: asked.solution === "" ? null : asked.solution,
    };
    try {
      const response = await send("POST", "/api/verify", { body, signal: ending.signal });
      if (response.body !== null) await hear(response.body);
    } catch (failure) {
      if (!ending.signal.aborted) {
        setError(failure instanceof Error ? failure : new Error(String(failure)));
      }
    }
    setBusy(false);
  };
  /** @param {ReadableStream<Uint8Array>} body */
  const hear = async (body) => {
    for await (const line of jsonLines(body)) {
      const told = /** @type {VerifyLine} */ (line);
      if (told.type === "judged") setJudged(told);
      else if (told.type === "failed") throw new Error(told.message);
      else setTexts((known) => ({ ...known, [told.type]: known[told.type] + told.text }));
    }
  };
  return h(
    "article",
    { class: "verify", "aria-labelledby": "verify-title" },
    h("h1", { id: "verify-title" }, "Verify a solution"),
    h(
      "form",
      { onSubmit: submit },
      h(VerifyFields, {
        runs: judging,
        run,
        checkpoints,
        step,
        asked,
        onChange: (changes) => setAsked((known) => ({ ...known, ...changes })),
      }),
      answer !== null && checkpoints.length === 0
        ? h(
          "p",
          { class: "notice" },
          `${run} has no checkpoint yet. Its button Checkpoint saves one after the present step.`,
        )
        : null,
      runs.length > 0 && judging.length === 0
        ? h("p", { class: "notice" }, "There is no run yet whose policies could be asked.")
        : null,
      h(
        "div",
        { class: "buttons" },
        h("button", {
          type: "submit",
          class: "primary",
          disabled: isBusy || checkpoints.length === 0 || asked.problem === "",
        }, isBusy ? "Judging …" : "Verify"),
        isBusy
          ? h("button", { type: "button", onClick: () => abort.current?.abort() }, "Stop")
          : null,
      ),
    ),
    h(Failure, { error }),
    h(Judged, { texts, judged }),
  );
}

/** @param {readonly Run[]} runs @param {string} run */
function stepOf(runs, run) {
  return runs.find(({ id }) => id === run)?.step;
}
