import { useState } from "preact/hooks";
import { runPath, send } from "../live/api.ts";
import { refreshRuns } from "../live/use_runs.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import { describedBy, ProblemOf, useProblem } from "../parts/problem_of.tsx";
import { TextField } from "../parts/text_field.tsx";
import type { RunView } from "../../runs/run_view.ts";

/** A run's tags and note, to be read and written. */
export function Notes({ run: { id, tags, note } }: { run: RunView }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class="notes"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        {tags.length === 0 && note === ""
          ? "Tags and note"
          : <span class="unseen">Tags and note</span>}
        {tags.map((tag) => <span class="badge" key={tag}>{tag}</span>)}
        {note !== "" && <span class="note">{note}</span>}
      </summary>
      {isOpen && <NotesForm id={id} tags={tags} note={note} onSaved={() => setOpen(false)} />}
    </details>
  );
}

function NotesForm(
  { id, onSaved, ...saved }: Pick<RunView, "id" | "tags" | "note"> & { onSaved: () => void },
) {
  const [tags, setTags] = useState(saved.tags.join(", "));
  const [note, setNote] = useState(saved.note);
  const { error, isBusy, sending } = useSending();
  const { form, wrong, elsewhere } = useProblem(error);
  const save = sending(async () => {
    const words = tags.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "");
    await send("PATCH", runPath(id), { body: { tags: words, note: note.trim() } });
    refreshRuns();
    onSaved();
  });
  return (
    <form onSubmit={save} ref={form}>
      <TextField
        id="run-tags"
        label="Tags"
        hint="Separated by commas; the list of runs finds them."
        name="tags"
        wrong={wrong}
        value={tags}
        onText={setTags}
      />
      <div class="field">
        <label for="run-note">Note</label>
        <textarea
          id="run-note"
          rows={3}
          value={note}
          {...describedBy(wrong, "note", null)}
          onInput={({ currentTarget }) => setNote(currentTarget.value)}
        />
        <ProblemOf wrong={wrong} field="note" />
      </div>
      <Failure error={elsewhere} />
      <button type="submit" class="primary" disabled={isBusy}>Save</button>
    </form>
  );
}
