import { formatCount, formatSize } from "../format.ts";
import { DeleteButton } from "../parts/delete_button.tsx";
import { Link } from "../parts/link.tsx";
import { EvaluateForm } from "./evaluate_form.tsx";
import { ExportForm } from "./export_form.tsx";
import { JobResult } from "./job_result.tsx";
import { askedName, type ListedModel, titleOf } from "./listed_models.ts";
import { formOf, TrainFromButton } from "./train_from_button.tsx";
import type { Job } from "../../models/jobs.ts";

const KINDS = { model: "model", adapter: "adapter", gguf: "GGUF", checkpoint: "checkpoint" };

export type Opened = "evaluate" | "export" | null;

/** A model: what it is, what can be done with it, and what came of that. */
export function ModelCard(
  {
    model,
    opened,
    open,
    problems,
    generators,
    evaluations,
    exports,
    onEvaluation,
    onExport,
    onRemoved,
  }: {
    model: ListedModel;
    /** The form that is open. */
    opened: Opened;
    open: (form: Opened) => void;
    /** What it can be measured on. */
    problems: [string, string][];
    /** Paths of models whose solutions a verifier can judge. */
    generators: string[];
    evaluations: Job[];
    exports: Job[];
    onEvaluation: () => void;
    onExport: () => void;
    onRemoved: () => void;
  },
) {
  const title = titleOf(model);
  const { kind, path, problem, isOwn, files, name, policy } = model;
  const asked = askedName(model);
  const isWhole = kind !== "checkpoint" && problem === null;
  // A checkpoint of a fine-tuning has no name: what it has learned lies in its run's folder in the end.
  const checkpoint = kind === "checkpoint" ? name : null;
  const query = `name=${encodeURIComponent(name ?? path)}`;
  const of = <span class="unseen">{title}</span>;
  const toggle = (which: "evaluate" | "export", words: string) => (
    <button
      type="button"
      aria-expanded={opened === which ? "true" : "false"}
      onClick={() => open(opened === which ? null : which)}
    >
      {words} {of}
    </button>
  );
  const begun = (then: () => void) => () => (open(null), then());
  return (
    <article class="card" aria-label={title}>
      <h2>{title}</h2>
      <Facts model={model} />
      {problem !== null && <p class="notice bad">It cannot be used: {problem}</p>}
      <div class="buttons">
        {asked !== null && <Link class="button" to={{ screen: "chat", asked }}>Chat {of}</Link>}
        {isWhole && (
          <Link class="button" to={formOf(path, policy)}>
            Train from {of}
          </Link>
        )}
        {checkpoint !== null && (
          <TrainFromButton
            checkpoint={checkpoint}
            policy={policy}
            jobs={exports}
            onExport={onExport}
          />
        )}
        {(isWhole || checkpoint !== null) && toggle("evaluate", "Evaluate")}
        {problem === null && kind !== "model" && name !== null && files.length > 0 &&
          toggle("export", "Export")}
        {files.length > 0 && (
          <a class="button" href={`/api/models/download?${query}`} download>Download {of}</a>
        )}
        {isOwn && (
          <DeleteButton
            path={`/api/models?${query}`}
            what={title}
            question={kind === "checkpoint"
              ? `Delete the whole checkpoint ${path}, with all its policies? This cannot be undone.`
              : `Delete ${path}? This cannot be undone.`}
            onRemoved={onRemoved}
          />
        )}
      </div>
      {opened === "evaluate" && (
        <EvaluateForm
          model={model}
          problems={problems}
          generators={generators}
          onBegun={begun(onEvaluation)}
        />
      )}
      {opened === "export" && <ExportForm model={model} onBegun={begun(onExport)} />}
      {evaluations.map((job) => (
        <JobResult key={job.name} what="evaluations" job={job} onRemoved={onEvaluation} />
      ))}
      {exports.map((job) => (
        <JobResult key={job.name} what="exports" job={job} onRemoved={onExport} />
      ))}
    </article>
  );
}

function Facts({ model }: { model: ListedModel }) {
  const { kind, name, parameters, bytes, base, run, step, policy, served, hasChat } = model;
  return (
    <p class="facts">
      <span class="badge">{KINDS[kind]}</span>
      {served !== null && <span class="badge good">served as {served}</span>}
      {parameters !== null && <span>{formatCount(parameters)} parameters</span>}
      {!Number.isNaN(bytes) && <span>{formatSize(bytes)}</span>}
      {policy !== null && <span>{policy}</span>}
      {run !== null && (
        <span>
          of <Link to={{ screen: "run", view: "checkpoints", runs: [run] }}>{run}</Link>
        </span>
      )}
      {step !== null && <span>step {step}</span>}
      {base !== null && <span>on {base}</span>}
      {hasChat === true && <span>has a chat template</span>}
      {kind === "checkpoint" && name === null && (
        <span class="quiet">
          what a fine-tuning has learned lies in its folder when it has ended
        </span>
      )}
    </p>
  );
}
