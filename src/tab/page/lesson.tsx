import { useState } from "preact/hooks";
import { Curves } from "./curves.tsx";
import { useKeptFocus } from "./focus.ts";
import { type ConversationState, isLearning, type LessonState } from "./conversation_state.ts";
import type { AskedOfModel } from "../worker/messages.ts";

/** Trains an adapter for the model on a file of examples. */
export function Lesson(
  { state, ask }: { state: ConversationState; ask: (asked: AskedOfModel) => void },
) {
  const { lesson, model, turns } = state;
  const [examples, setExamples] = useState<File | null>(null);
  const [updates, setUpdates] = useState(60);
  const isBusy = isLearning(state) || turns.at(-1)?.end === null;
  const keptFocus = useKeptFocus(`${lesson?.phase} ${isBusy}`);
  const teach = (event: Event) => {
    event.preventDefault();
    if (examples !== null) ask({ type: "teach", examples, updates });
  };
  return (
    <section>
      <h2>Teach it</h2>
      <p>
        An adapter learns to answer as a .jsonl file does: <code>question</code> and{" "}
        <code>answer</code> in each line, <code>prompt</code> and <code>completion</code>, or{" "}
        <code>messages</code>. A tenth of the questions is not trained on, but measured.
      </p>
      <form class="say" onSubmit={teach}>
        <div class="actions">
          <label class="field">
            <span>Examples</span>
            <input
              type="file"
              accept=".jsonl,.ndjson,.json"
              required
              disabled={isBusy}
              onChange={({ currentTarget }) => setExamples(currentTarget.files?.[0] ?? null)}
            />
          </label>
          <label class="field">
            <span>Updates, of four examples each</span>
            <input
              type="number"
              min={1}
              max={10000}
              required
              disabled={isBusy}
              value={updates}
              onInput={({ currentTarget }) => setUpdates(currentTarget.valueAsNumber)}
            />
          </label>
        </div>
        <div class="actions" aria-label="What can be done" {...keptFocus}>
          <button type="submit" disabled={isBusy}>Teach it</button>
          {lesson?.phase === "goes on" && (
            <button
              type="button"
              onClick={() => ask({ type: "endLesson" })}
            >
              End the lesson
            </button>
          )}
          {model?.taughtBy != null && !isBusy && (
            <button
              type="button"
              onClick={() => ask({ type: "downloadAdapter" })}
            >
              Download the adapter
            </button>
          )}
        </div>
      </form>
      {lesson !== null && <Course lesson={lesson} />}
    </section>
  );
}

function Course({ lesson }: { lesson: LessonState }) {
  const { total, lines, examples, doing, phase } = lesson;
  // A lesson that failed before its first update has its reason above.
  if (total === 0 && phase === "ended") return null;
  const step = lines.at(-1)?.step ?? 0;
  return (
    <>
      <p role="status">
        {total === 0 ? doing : `Update ${step} of ${total} on ${examples}${WORDS[phase]}`}
      </p>
      {total > 0 && <progress value={step} max={total} aria-label="Updates done" />}
      {lines.length > 0 && <Curves lines={lines} total={total} />}
    </>
  );
}

const WORDS = {
  "goes on": "",
  "ends": ", ends after this one …",
  "done": ", learned",
  "ended": ", ended before: the model is as it was",
} as const;
