import { useEffect } from "preact/hooks";

const LOOK_MS = 2000;

/** Looks again and again as long as something goes on. */
export function usePolling(isGoing: boolean, look: () => void) {
  useEffect(() => {
    if (!isGoing) return;
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, [isGoing]);
}
