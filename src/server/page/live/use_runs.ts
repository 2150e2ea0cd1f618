import { useEffect, useState } from "preact/hooks";
import { asError, get } from "./api.ts";
import type { RunView } from "../../runs/run_view.ts";

const POLL_MS = 2000;
const HIDDEN_MS = 15000;

const askers = new Set<() => void>();

/** Asks for the list at once, after something was done to a run. */
export function refreshRuns() {
  for (const ask of askers) ask();
}

interface Runs {
  readonly runs: RunView[] | null;
  /** Why the server cannot keep its index of the runs, such as a full disk. */
  readonly problem: string | null;
  readonly error: Error | null;
}

/** The list of runs, asked for again and again. While the server is gone the last list stays. */
export function useRuns(): Runs {
  const [state, setState] = useState<Runs>({ runs: null, problem: null, error: null });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    let round = 0;
    const ask = async () => {
      clearTimeout(timer);
      const mine = ++round;
      try {
        const { runs, problem } = await get<Omit<Runs, "error">>("/api/runs");
        if (!isOver && mine === round) setState({ runs, problem, error: null });
      } catch (error) {
        if (!isOver) setState((last) => ({ ...last, error: asError(error) }));
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
