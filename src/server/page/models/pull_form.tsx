import { useState } from "preact/hooks";
import { formatSize } from "../format.ts";
import { send } from "../live/api.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import type { PullView } from "../../models/model_schemas.ts";

/** Fetches a model. */
export function PullForm({ onBegun }: { onBegun: () => void }) {
  const [id, setId] = useState("");
  const { error, sending } = useSending();
  const submit = sending(async () => {
    await send("POST", "/api/models/pull", { body: { id } });
    setId("");
    onBegun();
  });
  return (
    <form onSubmit={submit}>
      <div class="field">
        <label for="pull-id">Fetch from the Hugging Face Hub</label>
        <input
          id="pull-id"
          value={id}
          aria-describedby="pull-hint"
          onInput={({ currentTarget }) => setId(currentTarget.value)}
        />
        <p class="hint" id="pull-hint">owner/name; what is here already is not fetched again</p>
      </div>
      <button type="submit" disabled={id === ""}>Fetch</button>
      <Failure error={error} />
    </form>
  );
}

/** How far fetching one is. */
export function PullProgress({ pull: { id, state, arrived, total, error } }: { pull: PullView }) {
  if (state === "failed") return <Failure error={new Error(`${id}: ${error}`)} />;
  if (state === "done") return <p role="status">{id}: here</p>;
  return (
    <p role="status">
      {id}: {formatSize(arrived)} of {formatSize(total)}{" "}
      <progress max={total ?? 1} value={arrived} aria-label={`${id}, bytes that are here`} />
    </p>
  );
}
