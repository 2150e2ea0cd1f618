import { useEffect, useRef, useState } from "preact/hooks";
import { newlyEnded } from "./newly_ended.ts";
import type { RunView } from "../../runs/run_view.ts";

/**
 * Tells of runs that end: by the browser's notifications where the reader has allowed them.
 *
 * @returns the last one that ended while nobody looked at the page; null when it is looked at
 */
export function useEndings(runs: readonly RunView[] | null): RunView | null {
  const last = useRef<readonly RunView[] | null>(null);
  const [unseen, setUnseen] = useState<RunView | null>(null);
  useEffect(() => {
    const ended = newlyEnded(last.current ?? [], runs ?? []);
    last.current = runs ?? last.current;
    if (ended.length === 0) return;
    if (document.hidden) setUnseen(ended[0]);
    for (const run of ended) notify(run);
  }, [runs]);
  useEffect(() => {
    const onVisibility = () => document.hidden || setUnseen(null);
    document.addEventListener("visibilitychange", onVisibility);
    return () => document.removeEventListener("visibilitychange", onVisibility);
  }, []);
  return unseen;
}

/** Whether this browser can be asked to notify the reader: not from an unsafe address, for one. */
export function canAsk() {
  return "Notification" in globalThis && isSecureContext && Notification.permission === "default";
}

function notify({ id, state, error }: RunView) {
  if (!("Notification" in globalThis) || Notification.permission !== "granted") return;
  try {
    new Notification(`${id}: ${state}`, {
      body: error ?? undefined,
      icon: "/page/icon.svg",
      tag: id,
    });
  } catch (error) {
    // Chrome on Android shows none of a page; its title tells.
    if (!(error instanceof TypeError)) throw error;
  }
}
