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
      if (data.type === "file") saveFile(data.name, data.bytes, "application/x-tar");
      else hear(data);
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
  const ask = (asked: AskedOfTraining) => {
    if (asked.type === "start" || asked.type === "resume") hear({ type: "starting" });
    worker.postMessage(asked);
  };
  return { state, ask };
}
