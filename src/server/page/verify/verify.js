import { h, useRef, useState } from "../vendor.js";
import { runPath, send } from "../live/api.js";
import { jsonLines } from "../live/json_lines.js";
import { useLoaded } from "../live/use_loaded.js";
import { Failure } from "../parts/failure.js";
import { Judged } from "./judged.js";
import { VerifyFields } from "./verify_fields.js";

/**
 * @import { CheckpointEntry, JudgedSolution, Run, VerifyLine } from "../contract.ts"
 */

/**
 * @typedef {object} Asked
 * @property {string} run
 * @property {string} checkpoint its step; "" for the newest
 * @property {string} problem
 * @property {string} solution "" lets the generator write one
 */

/**
 * A problem, and a solution if one likes, for a run's policies: what they write streams in.
 *
 * @param {{ runs: Run[], shown: string | null }} props
 */
export function Verify({ runs, shown }) {
  const judging = runs.filter(({ kind }) => kind === "train");
  const [asked, setAsked] = useState({ run: "", checkpoint: "", problem: "", solution: "" });
  const [texts, setTexts] = useState({ solution: "", critique: "" });
  const [judged, setJudged] = useState(/** @type {JudgedSolution | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const abort = useRef(/** @type {AbortController | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  const run = asked.run || (judging.find(({ id }) => id === shown) ?? judging[0])?.id || "";
  /** @type {{ answer: { checkpoints: CheckpointEntry[] } | null, error: Error | null }} */
  const { answer } = useLoaded(run === "" ? null : runPath(run, "checkpoints"));

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
      checkpoint: asked.checkpoint === "" ? null : Number(asked.checkpoint),
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
        checkpoints: answer?.checkpoints ?? [],
        asked: { ...asked, run },
        onChange: (changes) => setAsked((known) => ({ ...known, ...changes })),
      }),
      h(
        "div",
        { class: "buttons" },
        h("button", {
          type: "submit",
          class: "primary",
          disabled: isBusy || run === "" || asked.problem === "",
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
