import { useEffect, useState } from "preact/hooks";
import { get } from "./api.ts";
import type { RunView } from "../../runs/run_view.ts";

const POLL_MS = 2000;
const HIDDEN_MS = 15000;

const askers: Set<() => void> = new Set();

/** Asks for the list at once, after something was done to a run. */
export function refreshRuns() {
  for (const ask of askers) ask();
}

/**
 * The list of runs, asked for again and again. While the server is gone the last list stays.
 *
 * @returns problem: why the server cannot keep
 * its index of the runs, such as a full disk
 */
export function useRuns(): { runs: RunView[] | null; problem: string | null; error: Error | null } {
  const [state, setState] = useState<
    { runs: RunView[] | null; problem: string | null; error: Error | null }
  >({ runs: null, problem: null, error: null });
  useEffect(() => {
    let timer = undefined as ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    let round = 0;
    const ask = async () => {
      clearTimeout(timer);
      const mine = ++round;
      try {
        const { runs, problem = null }: { runs: RunView[]; problem?: string | null } = await get(
          "/api/runs",
        );
        if (!isOver && mine === round) setState({ runs, problem, error: null });
      } catch (error) {
        const asError = error instanceof Error ? error : new Error(String(error));
        if (!isOver) setState((last) => ({ ...last, error: asError }));
      }
      if (!isOver && mine === round) {
        timer = setTimeout(ask, document.hidden ? HIDDEN_MS : POLL_MS);
      }
    };
    const onVisible = () => document.hidden || ask();
    document.addEventListener("visibilitychange", onVisible);
    askers.add(ask);
    ask();
    return () => {
      isOver = true;
      clearTimeout(timer);
      askers.delete(ask);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, []);
  return state;
}
