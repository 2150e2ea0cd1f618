/** The page on which visitors talk with a model of their own, and teach it. */

import { render } from "preact";
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import { formatBytes } from "../../base/format_bytes.ts";
import { after, type ConversationState, isLearning, NO_MODEL } from "./conversation_state.ts";
import { Lesson } from "./lesson.tsx";
import { saveFile } from "./save_file.ts";
import { useScreenOn, useStaying } from "./stay.ts";
import { Top } from "./top.tsx";
import { webGpuMissing } from "./webgpu_missing.ts";
import type { AskedOfModel, ToldOfModel } from "../worker/messages.ts";

function ModelPage() {
  const [state, hear] = useReducer(after, NO_MODEL);
  const [missing, setMissing] = useState<string | null | undefined>(undefined);
  useEffect(() => void webGpuMissing().then(setMissing), []);
  const worker = useMemo(
    () => new Worker(new URL("worker.js", document.baseURI), { type: "module" }),
    [],
  );
  useEffect(() => {
    worker.onmessage = ({ data }: MessageEvent<ToldOfModel>) => {
      if (data.type === "file") return saveFile(data.name, data.bytes, "application/x-tar");
      hear(data);
    };
    worker.onerror = ({ message }) =>
      hear({
        type: "failed",
        message: message || "The worker could not be loaded.",
      });
    return () => worker.terminate();
  }, [worker]);
  useScreenOn(isLearning(state));
  useStaying(isLearning(state));
  const ask = (asked: AskedOfModel) => {
    switch (asked.type) {
      case "open":
        hear({ type: "opening" });
        break;
      case "say":
        hear({ type: "saying", text: asked.text });
        break;
      case "clear":
        hear({ type: "clearing" });
        break;
      case "teach":
        hear({ type: "teaching", examples: asked.examples.name });
        break;
      case "endLesson":
        hear({ type: "ending" });
        break;
    }
    worker.postMessage(asked);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    const files = [...event.dataTransfer?.files ?? []];
    const isBusy = state.isOpening || state.turns.at(-1)?.end === null || isLearning(state);
    if (files.length > 0 && !missing && !isBusy) ask({ type: "open", files });
  };
  return (
    <div onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <Top at="model.html" device={state.model?.device.name} />
      <main id="main" class="chat">
        <h1>Talk with a model of yours, and teach it</h1>
        <p>
          Drop a .gguf file here, or the files of a Hugging Face folder together, of a model of the
          Llama, Qwen2 or Qwen3 families that was made for conversation. It is read from where it
          lies, runs on this device's GPU, and is sent nowhere.
        </p>
        {missing === undefined
          ? <p class="quiet">Looking for a GPU …</p>
          : missing !== null
          ? <p class="notice" role="alert">{missing}</p>
          : <Talk state={state} ask={ask} />}
      </main>
    </div>
  );
}

function Talk({ state, ask }: { state: ConversationState; ask: (asked: AskedOfModel) => void }) {
  const { model, isOpening, turns, failure } = state;
  const isWriting = turns.at(-1)?.end === null;
  const isBusy = isWriting || isLearning(state);
  const [text, setText] = useState("");
  const say = (event: Event) => {
    event.preventDefault();
    if (text.trim() === "") return;
    ask({ type: "say", text: text.trim() });
    setText("");
  };
  return (
    <>
      <p>
        <label class="field">
          <span>Model</span>
          <input
            type="file"
            multiple
            disabled={isOpening || isBusy}
            onChange={({ currentTarget }) => {
              const files = [...currentTarget.files ?? []];
              if (files.length > 0) ask({ type: "open", files });
            }}
          />
        </label>
      </p>
      {isOpening && <p role="status">Reading the model …</p>}
      {failure !== null && <p class="notice" role="alert">{failure}</p>}
      {model !== null && (
        <p role="status">
          {model.name}
          {model.taughtBy !== null && `, taught by ${model.taughtBy}`}:{" "}
          {model.parameters.toLocaleString("en")} parameters, up to {formatBytes(model.bytes)}{" "}
          of GPU memory; the likeliest token each time.
        </p>
      )}
      <div class="turns" aria-live="polite">
        {turns.map(({ said, reply, end }, place) => (
          <div class="turn" key={place} aria-busy={end === null ? "true" : "false"}>
            <div class="said">
              <p class="who">You</p>
              <p class="text">{said}</p>
            </div>
            <div class="reply">
              <p class="who">{model?.name}</p>
              <p class="text">{reply}</p>
              <p class="quiet">{end ?? "…"}</p>
            </div>
          </div>
        ))}
      </div>
      {model !== null && (
        <form class="say" onSubmit={say}>
          <label class="field">
            <span>Say</span>
            <textarea
              rows={2}
              value={text}
              onInput={({ currentTarget }) => setText(currentTarget.value)}
            />
          </label>
          <div class="actions">
            <button type="submit" class="primary" disabled={isBusy}>Say it</button>
            <button
              type="button"
              disabled={isBusy || turns.length === 0}
              onClick={() => ask({ type: "clear" })}
            >
              Begin anew
            </button>
          </div>
        </form>
      )}
      {model !== null && <Lesson state={state} ask={ask} />}
    </>
  );
}

const root = document.getElementById("page");
if (root === null) throw new Error("model.html has no element #page");
render(<ModelPage />, root);
