import { useEffect, useState } from "../vendor.js";
import { get } from "./api.js";

/**
 * @import { Run } from "../contract.ts"
 */

const POLL_MS = 2000;
const HIDDEN_MS = 15000;

/** @type {Set<() => void>} */
const askers = new Set();

/** Asks for the list at once, after something was done to a run. */
export function refreshRuns() {
  for (const ask of askers) ask();
}

/**
 * The list of runs, asked for again and again. While the server is gone the last list stays.
 *
 * @returns {{ runs: Run[] | null, problem: string | null, error: Error | null }} problem: why the server cannot keep
 *   its index of the runs, such as a full disk
 */
export function useRuns() {
  const [state, setState] = useState(
    /** @type {{ runs: Run[] | null, problem: string | null, error: Error | null }} */
    ({ runs: null, problem: null, error: null }),
  );
  useEffect(() => {
    let timer = /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined);
    let isOver = false;
    let round = 0;
    const ask = async () => {
      clearTimeout(timer);
      const mine = ++round;
      try {
        /** @type {{ runs: Run[], problem?: string | null }} */
        const { runs, problem = null } = await get("/api/runs");
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
