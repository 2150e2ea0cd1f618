import { useState } from "preact/hooks";
import { useLoaded } from "../live/use_loaded.ts";
import { usePolling } from "../live/use_polling.ts";
import { Choice } from "../parts/choice.tsx";
import { Failure } from "../parts/failure.tsx";
import { PullProgress } from "../parts/pull_progress.tsx";
import { SearchField } from "../parts/search_field.tsx";
import { askedName, titleOf, wantedModels } from "./listed_models.ts";
import { ModelCard, type Opened } from "./model_card.tsx";
import { PullForm } from "./pull_form.tsx";
import { useJobs } from "./use_jobs.ts";
import { useModels } from "./use_models.ts";
import type { Preset } from "../../launches/presets.ts";
import type { ListedDataSet } from "../../routes/datasets.ts";

const KINDS: [string, string][] = [
  ["", "all"],
  ["model", "models"],
  ["adapter", "adapters"],
  ["gguf", "GGUF files"],
  ["checkpoint", "checkpoints of runs"],
];

/** All models that are here, what can be done with each, and fetching one. */
export function Models() {
  const [version, setVersion] = useState(0);
  const [kind, setKind] = useState("");
  const [words, setWords] = useState("");
  // One form at a time, so that what it has against a field stands once on the page.
  const [opened, setOpened] = useState<{ title: string; form: Opened } | null>(null);
  const changed = () => setVersion((number) => number + 1);
  const evaluations = useJobs("evaluations");
  const exports = useJobs("exports");
  const done = exports.jobs.filter(({ state }) => state === "done").length;
  const { models, unread, pulls, error } = useModels(`${version} ${done}`);
  const { answer: presets } = useLoaded<{ presets: Preset[] }>("/api/presets");
  const { answer: data } = useLoaded<{ datasets: ListedDataSet[] }>("/api/datasets");
  usePolling(pulls.some(({ state }) => state === "running"), changed);
  const shown = wantedModels(models ?? [], kind, words);
  const problems = [
    ...(presets?.presets ?? []).filter((preset) => preset.kind === "train")
      .map(({ name }): [string, string] => [`preset ${name}`, `the preset ${name}`]),
    ...(data?.datasets ?? []).map(({ path }): [string, string] => [`data ${path}`, path]),
  ];
  return (
    <article class="start" aria-labelledby="models-title">
      <h1 id="models-title">Models</h1>
      <Failure error={error ?? evaluations.error ?? exports.error} />
      <PullForm what="models" onBegun={changed} />
      {pulls.map((pull) => <PullProgress key={pull.path} pull={pull} />)}
      {models !== null && models.length === 0 && (
        <p class="quiet">None yet: fetch one, or train one.</p>
      )}
      {models !== null && models.length > 0 && (
        <search class="fields" aria-label="Models">
          <SearchField label="Only those with" wanted={words} onInput={setWords} />
          <Choice class="field" label="Kind" value={kind} options={KINDS} onChange={setKind} />
        </search>
      )}
      {models !== null && models.length > 0 && (
        <p class="quiet" role="status">{shown.length} of {models.length}</p>
      )}
      <ul class="cards">
        {shown.map((model) => (
          <li key={titleOf(model)}>
            <ModelCard
              model={model}
              opened={opened?.title === titleOf(model) ? opened.form : null}
              open={(form) => setOpened({ title: titleOf(model), form })}
              problems={problems}
              generators={(models ?? []).filter((one) =>
                one.kind !== "checkpoint" && one.problem === null
              ).map(({ path }) => path)}
              evaluations={evaluations.jobs.filter(({ request }) =>
                request.model === (model.kind === "checkpoint" ? model.name : model.path)
              )}
              exports={exports.jobs.filter(({ request }) =>
                [model.name, model.path, askedName(model)].includes(String(request.model))
              )}
              onEvaluation={evaluations.refresh}
              onExport={exports.refresh}
              onRemoved={changed}
            />
          </li>
        ))}
      </ul>
      {unread.map(({ path, reason }) => (
        <p class="notice" key={path}>{path} could not be looked into: {reason}</p>
      ))}
    </article>
  );
}
