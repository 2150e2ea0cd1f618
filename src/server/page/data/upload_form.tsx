import { useRef, useState } from "preact/hooks";
import { formatShare } from "../format.ts";
import { upload } from "../live/upload.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import { describedBy, ProblemOf, useProblem } from "../parts/problem_of.tsx";
import { TextField } from "../parts/text_field.tsx";

/** Sends a file of data to the server. */
export function UploadForm({ onSent }: { onSent: (set: string) => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [name, setName] = useState("");
  const [replaces, setReplaces] = useState(false);
  const [share, setShare] = useState(0);
  const abort = useRef<AbortController | null>(null);
  const { error, isBusy, sending } = useSending();
  const { form, wrong, elsewhere } = useProblem(error);
  const choose = (chosen: File | undefined) => {
    setFile(chosen ?? null);
    if (chosen && name === "") setName(asName(chosen.name.replace(/\..*$/, "")));
  };
  const submit = sending(async () => {
    if (file === null) return;
    setShare(0);
    const { signal } = abort.current = new AbortController();
    const path = `/api/datasets/${encodeURIComponent(name)}/${asName(file.name)}`;
    await upload(`${path}?replace=${replaces}`, file, setShare, signal);
    onSent(name);
  });
  return (
    <form class="start-form" onSubmit={submit} ref={form} aria-label="Upload a file">
      <div class="fields">
        <div class="field">
          <label for="upload-file">File</label>
          <input
            type="file"
            id="upload-file"
            accept=".csv,.tsv,.jsonl,.ndjson,.json,.gz,.parquet"
            {...describedBy(wrong, "file", "upload-hint")}
            onChange={({ currentTarget }) => choose(currentTarget.files?.[0])}
          />
          <ProblemOf wrong={wrong} field="file" />
          <p class="hint" id="upload-hint">
            problems or examples as CSV, TSV, JSON Lines, JSON or Parquet, at most 2 GiB
          </p>
        </div>
        <TextField
          id="upload-name"
          label="Data set"
          hint="a new name, or one of yours to add the file to"
          name="name"
          wrong={wrong}
          value={name}
          onText={setName}
        />
      </div>
      <div class="field check">
        <input
          type="checkbox"
          id="upload-replaces"
          checked={replaces}
          onChange={({ currentTarget }) => setReplaces(currentTarget.checked)}
        />
        <label for="upload-replaces">Replace a file of the same name</label>
      </div>
      <Failure error={elsewhere} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={isBusy || file === null || name === ""}>
          Upload
        </button>
        {isBusy && <button type="button" onClick={() => abort.current?.abort()}>Stop</button>}
        {isBusy && <progress max={1} value={share} aria-label={`Sent, ${formatShare(share)}`} />}
      </div>
    </form>
  );
}

/** Without what may not be in the names of data sets and their files. */
function asName(text: string): string {
  return text.replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(-100);
}
