import { useEffect, useMemo, useReducer } from "preact/hooks";
import type { Asked, Told } from "../worker/messages.ts";
import { after, NO_RUN, type RunState } from "./run_state.ts";

/** The worker of this page, what it has told so far, and how it is asked. */
export function useTraining(): { state: RunState; ask: (asked: Asked) => void } {
  const [state, hear] = useReducer(after, NO_RUN);
  const worker = useMemo(
    () => new Worker(new URL("worker.js", document.baseURI), { type: "module" }),
    [],
  );
  useEffect(() => {
    worker.onmessage = ({ data }: MessageEvent<Told>) => {
      if (data.type === "file") save(data.name, data.bytes);
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
  const ask = (asked: Asked) => {
    if (asked.type === "start" || asked.type === "resume") hear({ type: "starting" });
    worker.postMessage(asked);
  };
  return { state, ask };
}

/** Has the browser save a file. */
function save(name: string, bytes: Uint8Array<ArrayBuffer>): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type: "application/x-tar" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
