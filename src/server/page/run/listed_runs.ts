import type { RunView } from "../../runs/run_view.ts";

/**
 * The runs as they are listed: below a comparison that is open, its own runs in the order in which they began; where
 * words are looked for, all that have them.
 *
 * @param runs the newest first
 * @param shown the run, or one of its runs
 * @param wanted words, "" for none
 */
export function listedRuns(
  runs: readonly RunView[],
  shown: string | null,
  wanted: string,
): RunView[] {
  const opened = runs.find(({ id }) => id === shown)?.comparison ?? shown;
  const inOrder = runs.filter(({ comparison }) => comparison === null).flatMap((run) => [
    run,
    ...runs.filter(({ comparison }) => comparison === run.id).reverse(),
  ]);
  return inOrder.filter(({ id, state, kind, comparison }) =>
    wanted === ""
      ? comparison === null || comparison === opened
      : `${id} ${state} ${kind}`.toLowerCase().includes(wanted.toLowerCase())
  );
}
