import type { PageState } from "../url_state.ts";
import type { RunView } from "../../runs/run_view.ts";

/** Which runs are looked for, and in which order they are wanted. */
export type Looked = Pick<PageState, "wanted" | "tag" | "state" | "sort">;

/** Whether only some of the runs are looked for. */
export function isLooking({ wanted, tag, state }: Looked) {
  return wanted !== "" || tag !== "" || state !== "";
}

/**
 * The runs as they are listed: below a comparison that is open, its own runs in the order in which they began; where
 * something is looked for, all that have it.
 *
 * @param runs the newest first
 * @param shown the run, or one of its runs
 */
export function listedRuns(
  runs: readonly RunView[],
  shown: string | null,
  looked: Looked,
): RunView[] {
  const opened = runs.find(({ id }) => id === shown)?.comparison ?? shown;
  const inOrder = runs.filter(({ comparison }) => comparison === null).flatMap((run) => [
    run,
    ...runs.filter(({ comparison }) => comparison === run.id).reverse(),
  ]);
  const listed = inOrder.filter((run) =>
    isLooking(looked) ? isFound(run, looked) : run.comparison === null || run.comparison === opened
  );
  switch (looked.sort) {
    case "":
      return listed;
    case "step":
      return listed.sort((a, b) => b.step - a.step);
    case "endedAt":
      return listed.sort((a, b) => -inAlphabet(a.endedAt ?? "", b.endedAt ?? ""));
    default: {
      const { sort } = looked;
      return listed.sort((a, b) => inAlphabet(a[sort], b[sort]));
    }
  }
}

function isFound(run: RunView, { wanted, tag, state }: Looked) {
  const { id, kind, note, tags } = run;
  const words = [id, run.state, kind, note, ...tags].join("\n").toLowerCase();
  return words.includes(wanted.toLowerCase()) && (tag === "" || tags.includes(tag)) &&
    (state === "" || run.state === state);
}

function inAlphabet(a: string, b: string) {
  return a === b ? 0 : a < b ? -1 : 1;
}
