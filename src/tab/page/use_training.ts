import { useEffect, useMemo, useReducer } from "preact/hooks";
import type { AskedOfTraining, ToldOfTraining } from "../worker/messages.ts";
import { saveFile } from "./save_file.ts";
import { useScreenOn, useStaying } from "./stay.ts";
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
        message: message || "The worker could not be loaded. Load the page again.",
      });
    };
    worker.postMessage({ type: "look" });
    return () => worker.terminate();
  }, [worker]);
  useScreenOn(state.phase === "training");
  useStaying(state.phase === "training" || state.phase === "paused");
  const ask = (asked: AskedOfTraining) => {
    if (asked.type === "start" || asked.type === "resume") {
      hear({ type: "starting" });
      // Asked for a kept run not to be dropped when room is short; a browser may refuse.
      void navigator.storage?.persist?.();
    }
    if (asked.type === "pause") hear({ type: "pausing" });
    if (asked.type === "stop") hear({ type: "stopping" });
    worker.postMessage(asked);
  };
  return { state, ask };
}
