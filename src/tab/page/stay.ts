/** What a page asks of the browser while it trains. */

import { useEffect } from "preact/hooks";

/** Asks a phone to leave its screen on: it would stop what trains. A browser that refuses is no worse than before. */
export function useScreenOn(isTraining: boolean): void {
  useEffect(() => {
    if (!isTraining || !("wakeLock" in navigator)) return;
    let held: Promise<WakeLockSentinel | null> = Promise.resolve(null);
    // It is taken back whenever the page is hidden.
    const request = () => {
      if (document.visibilityState === "visible") {
        held = navigator.wakeLock.request("screen").catch(() => null);
      }
    };
    request();
    document.addEventListener("visibilitychange", request);
    return () => {
      document.removeEventListener("visibilitychange", request);
      void held.then((lock) => lock?.release());
    };
  }, [isTraining]);
}

/** Has the browser ask before the page is left, which ends what goes on. */
export function useStaying(hasRun: boolean): void {
  useEffect(() => {
    if (!hasRun) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [hasRun]);
}
