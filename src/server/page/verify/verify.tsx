import { useRef, useState } from "preact/hooks";
import { runPath } from "../live/api.ts";
import { useRoute } from "../live/route.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import { hasBegun } from "../run/states.ts";
import { askVerifier } from "./ask_verifier.ts";
import { Judged } from "./judged.tsx";
import { VerifyFields } from "./verify_fields.tsx";
import type { JudgedSolution } from "../../../run/tango/judge_solution.ts";
import type { ListedCheckpoint } from "../../routes/folders.ts";
import type { RunView } from "../../runs/run_view.ts";

export interface Asked {
  readonly problem: string;
  /** "" lets the generator write one. */
  readonly solution: string;
}

/** A problem, and a solution if one likes, for a run's policies: what they write streams in. */
export function Verify({ runs }: { runs: RunView[] }) {
  const route = useRoute();
  const judging = runs.filter((run) => run.kind === "train" && hasBegun(run));
  const [asked, setAsked] = useState<Asked>({ problem: "", solution: "" });
  const [texts, setTexts] = useState({ solution: "", critique: "" });
  const [judged, setJudged] = useState<JudgedSolution | null>(null);
  const { error, isBusy, sending } = useSending();
  const abort = useRef<AbortController | null>(null);
  const chosen = judging.find(({ id }) => id === route.runs[0]) ?? judging[0];
  const run = chosen?.id ?? "";
  const { answer } = useLoaded<{ checkpoints: ListedCheckpoint[] }>(
    run === "" ? null : runPath(run, "checkpoints"),
    chosen?.step,
  );
  const steps = (answer?.checkpoints ?? []).map(({ step }) => step);
  // One that is gone meanwhile is not asked.
  const step = steps.find((one) => one === route.step) ?? null;

  const submit = sending(async () => {
    const { signal } = abort.current = new AbortController();
    setJudged(null);
    setTexts({ solution: asked.solution, critique: "" });
    const body = { run, checkpoint: step, ...asked, solution: asked.solution || null };
    try {
      for await (const told of askVerifier(body, signal)) {
        if (told.type === "judged") setJudged(told);
        else setTexts((known) => ({ ...known, [told.type]: known[told.type] + told.text }));
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  });
  return (
    <article class="verify" aria-labelledby="verify-title">
      <h1 id="verify-title">Verify a solution</h1>
      <form onSubmit={submit}>
        <VerifyFields
          runs={judging.map(({ id }) => id)}
          run={run}
          steps={steps}
          step={step}
          asked={asked}
          onChange={(changes) => setAsked((known) => ({ ...known, ...changes }))}
        />
        {answer !== null && steps.length === 0 && (
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
            disabled={isBusy || steps.length === 0 || asked.problem === ""}
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
