import { useEffect, useState } from "preact/hooks";
import { formatSize } from "../format.ts";
import { send } from "../live/api.ts";
import { go, useRoute } from "../live/route.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { useSending } from "../live/use_sending.ts";
import { Choice } from "../parts/choice.tsx";
import { DeleteButton } from "../parts/delete_button.tsx";
import { Failure } from "../parts/failure.tsx";
import { CheckView } from "./check_view.tsx";
import { MappingFields } from "./mapping_fields.tsx";
import { PreviewTable } from "./preview_table.tsx";
import { type Chosen, chosenOf, mappingOf } from "./reading.ts";
import type { CheckedData, DataPreview, ListedDataSet } from "../../routes/datasets.ts";

/** One data set: its first rows, how they are read, and what a run would find by that. */
export function DataSetView({ set, onRemoved }: { set: ListedDataSet; onRemoved: () => void }) {
  const { name, path, isOwn, files } = set;
  const route = useRoute();
  const file = files.some((one) => one.path === route.file) ? route.file : "";
  const address = `/api/datasets/${encodeURIComponent(name)}`;
  const query = file === "" ? "" : `?file=${encodeURIComponent(file)}`;
  return (
    <section aria-labelledby="one-set">
      <h2 id="one-set">{name}</h2>
      <p class="quiet">{path}</p>
      <div class="buttons">
        <Choice
          class="field"
          label="File"
          value={file}
          options={[
            ...files.length === 1 ? [] : [["", `all ${files.length} together`] as [string, string]],
            ...files.map((one): [string, string] => [
              files.length === 1 ? "" : one.path,
              `${one.path}, ${formatSize(one.bytes)}`,
            ]),
          ]}
          onChange={(file) => go({ set: name, file })}
        />
      </div>
      <Reading key={file} address={address} file={file} />
      {isOwn && (
        <div class="buttons">
          <DeleteButton
            path={`${address}${query}`}
            what={file === "" ? name : `${name}, ${file}`}
            question={`Delete ${
              file === "" ? `the data set ${name}` : `the file ${file} of ${name}`
            }? ` +
              "This cannot be undone."}
            onRemoved={onRemoved}
          />
        </div>
      )}
    </section>
  );
}

function Reading({ address, file }: { address: string; file: string }) {
  const of = file === "" ? "" : `&file=${encodeURIComponent(file)}`;
  const { answer: preview, error } = useLoaded<DataPreview>(`${address}/preview?rows=10${of}`);
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [result, setResult] = useState<CheckedData | null>(null);
  const { error: refusal, setError, isBusy, sending } = useSending();
  const shown = chosen ?? (preview && chosenOf(preview.mapping));
  const mapping = shown && mappingOf(shown);
  // What was found by another mapping says nothing of this one.
  useEffect(() => {
    setResult(null);
    setError(null);
  }, [JSON.stringify(mapping)]);
  const check = sending(async () => {
    if (mapping === null) return;
    const { format, columns } = mapping;
    const body = {
      file: file || undefined,
      ...(format === null ? { columns } : { format }),
    };
    setResult(await (await send("POST", `${address}/check`, { body })).json());
  });
  if (preview === null) {
    return error === null ? <p class="quiet">Reading it …</p> : <Failure error={error} />;
  }
  return (
    <>
      <PreviewTable preview={preview} />
      <form class="start-form" onSubmit={check} aria-labelledby="mapping-title">
        <h3 id="mapping-title">How it is read</h3>
        {preview.problem !== null && <p class="notice">{preview.problem}</p>}
        {shown !== null && (
          <MappingFields
            columns={preview.columns.map(({ name }) => name)}
            formats={preview.formats}
            proposed={preview.mapping}
            chosen={shown}
            onChange={setChosen}
          />
        )}
        <Failure error={refusal} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={isBusy || mapping === null}>
            {isBusy ? "Checking …" : "Check"}
          </button>
        </div>
      </form>
      {result !== null && <CheckView result={result} />}
    </>
  );
}
