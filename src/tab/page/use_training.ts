import { useEffect, useMemo, useReducer } from "preact/hooks";
import type { AskedOfTraining, ToldOfTraining } from "../worker/messages.ts";
import { saveFile } from "./save_file.ts";
import { after, NO_RUN, type RunState } from "./run_state.ts";

/** The worker of this page, what it has told so far, and how it is asked. */
export function useTraining(): { state: RunState; ask: (asked: AskedOfTraining) => void } {
  const [state, hear] = useReducer(after, NO_RUN);
  const worker = useMemo(
    () => new Worker(new URL("worker.js", document.baseURI), { type: "module" }),
    [],
  );
  useEffect(() => {
    worker.onmessage = ({ data }: MessageEvent<ToldOfTraining>) => {
      if (data.type === "file") return saveFile(data.name, data.bytes, "application/x-tar");
      hear(data);
      // What it had come to may be kept.
      if (data.type === "failed") worker.postMessage({ type: "look" });
    };
    worker.onerror = ({ message }) => {
      hear({
        type: "failed",
        message: message || "The worker could not be loaded.",
        isUsers: false,
      });
    };
    worker.postMessage({ type: "look" });
    return () => worker.terminate();
  }, [worker]);
  useScreenOn(state.phase === "training");
  const ask = (asked: AskedOfTraining) => {
    if (asked.type === "start" || asked.type === "resume") hear({ type: "starting" });
    worker.postMessage(asked);
  };
  return { state, ask };
}

/** Asks a phone to leave its screen on: it would stop what trains. A browser that refuses is no worse than before. */
function useScreenOn(isTraining: boolean): void {
  useEffect(() => {
    if (!isTraining || !("wakeLock" in navigator)) return;
    const asked = navigator.wakeLock.request("screen").catch(() => null);
    return () => void asked.then((lock) => lock?.release());
  }, [isTraining]);
}
