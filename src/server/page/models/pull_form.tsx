import { useState } from "preact/hooks";
import { send } from "../live/api.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import { useProblem } from "../parts/problem_of.tsx";
import { TextField } from "../parts/text_field.tsx";
import type { PullView } from "../../models/model_schemas.ts";

/** Fetches a model, or a data set. */
export function PullForm(
  { what, onBegun }: { what: "models" | "datasets"; onBegun: (pull: PullView) => void },
) {
  const [id, setId] = useState("");
  const [files, setFiles] = useState("");
  const { error, isBusy, sending } = useSending();
  const { form, wrong, elsewhere } = useProblem(error);
  const submit = sending(async () => {
    const globs = files.split(/[\s,]+/).filter((glob) => glob !== "");
    const body = { id: id.trim(), files: globs.length === 0 ? undefined : globs };
    const pull: PullView = await (await send("POST", `/api/${what}/pull`, { body })).json();
    setId("");
    setFiles("");
    onBegun(pull);
  });
  const isData = what === "datasets";
  return (
    <form class="start-form" onSubmit={submit} ref={form} aria-label="Fetch from the Hub">
      <div class="fields">
        <TextField
          id="pull-id"
          label="Fetch from the Hugging Face Hub"
          hint={`owner/name${
            isData ? ", such as openai/gsm8k" : ""
          }; what is here already is not fetched again`}
          name="id"
          wrong={wrong}
          value={id}
          onText={setId}
        />
        {isData && (
          <TextField
            id="pull-files"
            label="Files"
            hint="such as main/*; empty: all that can be read"
            name="files"
            wrong={wrong}
            value={files}
            onText={setFiles}
          />
        )}
      </div>
      <Failure error={elsewhere} />
      <div class="buttons">
        <button type="submit" disabled={isBusy || id.trim() === ""}>Fetch</button>
      </div>
    </form>
  );
}
