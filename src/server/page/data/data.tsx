import { useState } from "preact/hooks";
import { formatSize } from "../format.ts";
import { go, useRoute } from "../live/route.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { Failure } from "../parts/failure.tsx";
import { Link } from "../parts/link.tsx";
import { DataSetView } from "./data_set_view.tsx";
import { UploadForm } from "./upload_form.tsx";
import type { ListedDataSet } from "../../routes/datasets.ts";

/** The data sets that are here, adding to them, and one of them: what is in it and how it is read. */
export function Data() {
  const { set } = useRoute();
  const [version, setVersion] = useState(0);
  const changed = () => setVersion((number) => number + 1);
  const { answer, error } = useLoaded<{ datasets: ListedDataSet[] }>("/api/datasets", version);
  const sets = answer?.datasets ?? [];
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
      {answer !== null && sets.length === 0 && <p class="quiet">None yet: upload a file.</p>}
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
