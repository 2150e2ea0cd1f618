import { useRef, useState } from "preact/hooks";
import { runPath, send } from "../live/api.ts";
import { jsonLines } from "../live/json_lines.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { Failure } from "../parts/failure.tsx";
import { hasBegun } from "../run/states.ts";
import { Judged } from "./judged.tsx";
import { VerifyFields } from "./verify_fields.tsx";
import type { ListedCheckpoint } from "../../routes/folders.ts";
import type { JudgedSolution } from "../../../run/tango/judge_solution.ts";
import type { RunView } from "../../runs/run_view.ts";
import type { PageState } from "../url_state.ts";

/** A line of what POST /api/verify answers. */
type VerifyLine =
  | { readonly type: "solution" | "critique"; readonly text: string }
  | { readonly type: "judged" } & JudgedSolution
  | { readonly type: "failed"; readonly message: string };

export interface Asked {
  readonly problem: string;
  /** "" lets the generator write one. */
  readonly solution: string;
}

/** A problem, and a solution if one likes, for a run's policies: what they write streams in. */
export function Verify({ runs, route }: { runs: RunView[]; route: PageState }) {
  const judging = runs.filter((run) => run.kind === "train" && hasBegun(run));
  const [asked, setAsked] = useState({ problem: "", solution: "" });
  const [texts, setTexts] = useState({ solution: "", critique: "" });
  const [judged, setJudged] = useState<JudgedSolution | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const abort = useRef<AbortController | null>(null);
  const [isBusy, setBusy] = useState(false);
  const run = (judging.find(({ id }) => id === route.runs[0]) ?? judging[0])?.id ?? "";
  const { answer } = useLoaded<{ checkpoints: ListedCheckpoint[] }>(
    run === "" ? null : runPath(run, "checkpoints"),
    stepOf(runs, run),
  );
  const checkpoints = answer?.checkpoints ?? [];
  // One that is gone meanwhile is not asked.
  const step = checkpoints.some((one) => one.step === route.step) ? route.step : null;

  const submit = async (event: Event) => {
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
  const hear = async (body: ReadableStream<Uint8Array>) => {
    for await (const line of jsonLines(body)) {
      const told = line as VerifyLine;
      if (told.type === "judged") setJudged(told);
      else if (told.type === "failed") throw new Error(told.message);
      else setTexts((known) => ({ ...known, [told.type]: known[told.type] + told.text }));
    }
  };
  return (
    <article class="verify" aria-labelledby="verify-title">
      <h1 id="verify-title">Verify a solution</h1>
      <form onSubmit={submit}>
        <VerifyFields
          runs={judging}
          run={run}
          checkpoints={checkpoints}
          step={step}
          asked={asked}
          onChange={(changes) => setAsked((known) => ({ ...known, ...changes }))}
        />
        {answer !== null && checkpoints.length === 0 && (
          <p class="notice">
            {run} has no checkpoint yet. Its button Checkpoint saves one after the present step.
          </p>
        )}
        {runs.length > 0 && judging.length === 0 && (
          <p class="notice">There is no run yet whose policies could be asked.</p>
        )}
        <div class="buttons">
          <button
            type="submit"
            class="primary"
            disabled={isBusy || checkpoints.length === 0 || asked.problem === ""}
          >
            {isBusy ? "Judging …" : "Verify"}
          </button>
          {isBusy && <button type="button" onClick={() => abort.current?.abort()}>Stop</button>}
        </div>
      </form>
      <Failure error={error} />
      <Judged texts={texts} judged={judged} />
    </article>
  );
}

function stepOf(runs: readonly RunView[], run: string) {
  return runs.find(({ id }) => id === run)?.step;
}
