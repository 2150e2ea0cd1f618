import type { RunView } from "../../runs/run_view.ts";

const OVER: readonly RunView["state"][] = ["stopped", "finished", "failed", "killed", "lost"];

/** Runs that were not over in an earlier list and are now; those of a comparison end with it. */
export function newlyEnded(
  before: readonly RunView[],
  now: readonly RunView[],
): RunView[] {
  return now.filter(({ id, state, comparison }) =>
    comparison === null && OVER.includes(state) &&
    before.some((run) => run.id === id && !OVER.includes(run.state))
  );
}
