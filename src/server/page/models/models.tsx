import { useEffect, useState } from "preact/hooks";
import { formatSize } from "../format.ts";
import { send } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import { Head } from "../parts/head.tsx";
import type { PullView } from "../../models/pulls.ts";
import type { ModelList } from "../../models/model_schemas.ts";

const LOOK_MS = 2000;

/** Models that runs can start from, and fetching one. */
export function Models() {
  const [version, setVersion] = useState(0);
  const changed = () => setVersion((number) => number + 1);
  const { answer, error } = useLoaded<ModelList>("/api/models", version);
  const { models = [], pulls = [] } = answer ?? {};
  const isPulling = pulls.some(({ state }) => state === "running");
  useEffect(() => {
    if (!isPulling) return;
    const timer = setInterval(changed, LOOK_MS);
    return () => clearInterval(timer);
  }, [isPulling]);
  return (
    <article class="start" aria-labelledby="models-title">
      <h1 id="models-title">Models</h1>
      <Failure error={error} />
      <PullForm onBegun={changed} />
      {pulls.map((pull) => <PullProgress key={pull.path} pull={pull} />)}
      {answer !== null && models.length === 0 && <p class="quiet">None yet.</p>}
      {models.length > 0 && (
        <table>
          <caption>By the path that a configuration calls them.</caption>
          <Head titles={["Path", "Kind", "Weights"]} />
          <tbody>
            {models.map(({ path, kind, bytes }) => (
              <tr key={path}>
                <th scope="row">{path}</th>
                <td>{kind}</td>
                <td>{formatSize(bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </article>
  );
}

function PullForm({ onBegun }: { onBegun: () => void }) {
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

function PullProgress({ pull: { id, state, arrived, total, error } }: { pull: PullView }) {
  if (state === "failed") return <Failure error={new Error(`${id}: ${error}`)} />;
  if (state === "done") return <p role="status">{id}: here</p>;
  return (
    <p role="status">
      {id}: {formatSize(arrived)} of {formatSize(total)}{" "}
      <progress max={total ?? 1} value={arrived} aria-label={`${id}, bytes that are here`} />
    </p>
  );
}
