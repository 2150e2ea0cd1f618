import { useState } from "preact/hooks";
import { formatSize } from "../format.ts";
import { go, useRoute } from "../live/route.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { usePolling } from "../live/use_polling.ts";
import { Failure } from "../parts/failure.tsx";
import { Link } from "../parts/link.tsx";
import { PullForm } from "../models/pull_form.tsx";
import { PullProgress } from "../parts/pull_progress.tsx";
import { DataSetView } from "./data_set_view.tsx";
import { UploadForm } from "./upload_form.tsx";
import type { DataList } from "../../routes/datasets.ts";

/** The data sets that are here, adding to them, and one of them: what is in it and how it is read. */
export function Data() {
  const { set } = useRoute();
  const [version, setVersion] = useState(0);
  const changed = () => setVersion((number) => number + 1);
  const { answer, error } = useLoaded<DataList>("/api/datasets", version);
  const sets = answer?.datasets ?? [];
  const pulls = answer?.pulls ?? [];
  usePolling(pulls.some(({ state }) => state === "running"), changed);
  const shown = sets.find(({ name }) => name === set) ?? (set === "" ? sets[0] : undefined);
  return (
    <article class="start" aria-labelledby="data-title">
      <h1 id="data-title">Data</h1>
      <Failure error={error} />
      <UploadForm
        onSent={(name) => {
          changed();
          go({ set: name, file: "" });
        }}
      />
      <PullForm what="datasets" onBegun={changed} />
      {pulls.map((pull) => (
        <PullProgress key={pull.path} pull={pull}>
          {setOf(sets, pull.path) !== null && (
            <Link to={{ screen: "data", set: setOf(sets, pull.path) ?? "", file: "" }}>
              Look at it <span class="unseen">{pull.id}</span>
            </Link>
          )}
        </PullProgress>
      ))}
      <nav aria-label="Data sets">
        <ul class="benchmarks">
          {sets.map((one) => (
            <li key={one.name} class={one === shown ? "entry shown" : "entry"}>
              <Link
                to={{ screen: "data", set: one.name, file: "" }}
                aria-current={one === shown ? "true" : undefined}
              >
                <span class="name">{one.name}</span>
                <span class="badge">{formatSize(one.bytes)}</span>
                <span class="detail">{one.isOwn ? one.path : "comes with the program"}</span>
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {answer !== null && sets.length === 0 && (
        <p class="quiet">None yet: upload a file, or fetch one.</p>
      )}
      {answer !== null && set !== "" && shown === undefined && (
        <p class="notice">There is no data set {set}.</p>
      )}
      {shown !== undefined && (
        <DataSetView
          key={`${shown.name} ${shown.bytes}`}
          set={shown}
          onRemoved={() => {
            go({ set: "", file: "" });
            changed();
          }}
        />
      )}
    </article>
  );
}

/** The data set that lies at a path, or around it; null for none. */
function setOf(sets: DataList["datasets"], path: string): string | null {
  return sets.find((set) => path === set.path || path.startsWith(`${set.path}/`))?.name ?? null;
}
