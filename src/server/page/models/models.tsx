import { useEffect, useState } from "preact/hooks";
import { formatSize } from "../format.ts";
import { send } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { Failure } from "../parts/failure.tsx";
import type { ModelList } from "../../routes/models.ts";
import type { PullView } from "../../models/pulls.ts";

const LOOK_MS = 2000;

/** Models that runs can start from, and fetching one. */
export function Models() {
  const [version, setVersion] = useState(0);
  const { answer, error } = useLoaded<ModelList>("/api/models", version);
  const { models = [], pulls = [] } = answer ?? {};
  const isPulling = pulls.some(({ state }) => state === "running");
  useEffect(() => {
    if (!isPulling) return;
    const timer = setInterval(() => setVersion((number) => number + 1), LOOK_MS);
    return () => clearInterval(timer);
  }, [isPulling]);
  return (
    <article class="start" aria-labelledby="models-title">
      <h1 id="models-title">Models</h1>
      <Failure error={error} />
      <PullForm onBegun={() => setVersion((number) => number + 1)} />
      {pulls.map((pull) => <PullProgress key={pull.path} pull={pull} />)}
      {answer !== null && models.length === 0 && <p class="quiet">None yet.</p>}
      {models.length > 0 && (
        <table>
          <caption>By the path that a configuration calls them.</caption>
          <thead>
            <tr>
              {["Path", "Kind", "Weights"].map((title) => <th scope="col" key={title}>{title}</th>)}
            </tr>
          </thead>
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
  const [error, setError] = useState<Error | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    setError(null);
    try {
      await send("POST", "/api/models/pull", { body: { id } });
      setId("");
      onBegun();
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
    }
  };
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
  return (
    <p role="status">
      {id}: {state === "done" ? "here" : `${formatSize(arrived)} of ${formatSize(total)} `}
      {state !== "done" && (
        <progress max={total ?? 1} value={arrived} aria-label={`${id}, bytes that are here`} />
      )}
    </p>
  );
}
