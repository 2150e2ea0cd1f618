import { useEffect, useRef, useState } from "preact/hooks";
import { formatValue } from "../format.ts";
import { send } from "../live/api.ts";
import { go, useRoute } from "../live/route.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { useSending } from "../live/use_sending.ts";
import { refreshRuns } from "../live/use_runs.ts";
import { Failure } from "../parts/failure.tsx";
import { Choice } from "../parts/choice.tsx";
import { describedBy, type FieldProblem, ProblemOf, useProblem } from "../parts/problem_of.tsx";
import { SearchField } from "../parts/search_field.tsx";
import { FormField } from "./form_field.tsx";
import { PlanButton } from "./plan_button.tsx";
import { defaultAt, type Field, schemaFields, settingAt, typedValue } from "./schema_fields.ts";
import type { ModelList } from "../../models/model_schemas.ts";
import type { Preset } from "../../launches/presets.ts";
import type { RunView } from "../../runs/run_view.ts";
import type { Schema } from "../api/schema_types.ts";

interface Typed {
  readonly text: string;
  readonly value: unknown;
}

/** What stands above the keys of the configuration. */
const OPTIONS = {
  run: { label: "Name", hint: "of the run's folder; empty: the next free number" },
  steps: { label: "Steps", hint: "empty: as the preset says", least: 1 },
  seeds: { label: "Seeds", hint: "separated by commas; empty: 0,1,2" },
  ranks: {
    label: "Ranks",
    hint: "processes that share it, one for each GPU; empty: one",
    least: 1,
  },
  gpuIndex: {
    label: "GPU",
    hint: "its number, as ./tango doctor shows; empty: the first with room",
    least: 0,
  },
};

/** Starts a run from a preset; the form is made from the configuration's own schema. */
export function StartRun() {
  const route = useRoute();
  const { answer, error } = useLoaded<{ presets: Preset[] }>("/api/presets");
  const presets = answer?.presets ?? [];
  const preset = presets.find(({ name }) => name === route.preset) ?? presets[0];
  return (
    <article class="start" aria-labelledby="start-title">
      <h1 id="start-title">Start a run</h1>
      <Failure error={error} />
      {answer !== null && preset === undefined && <p class="notice">The server has no presets.</p>}
      {preset !== undefined && (
        <Choice
          class="field"
          label="Preset"
          value={preset.name}
          options={presets.map(({ name, kind }) => [
            name,
            kind === "train" ? name : `${name} (${kind})`,
          ])}
          onChange={(name) => go({ preset: name }, { replace: true })}
        />
      )}
      {preset !== undefined && <StartForm preset={preset} key={preset.name} />}
    </article>
  );
}

function StartForm({ preset }: { preset: Preset }) {
  const { answer: schema, error: schemaError } = useLoaded<Schema>(
    `/api/schema?kind=${preset.kind}`,
  );
  const { answer: found } = useLoaded<ModelList>("/api/models");
  // Letter by letter, as it is typed: what is drawn anew meanwhile, for whatever reason, shows the same again.
  const [typed, setTyped] = useState<Record<string, Typed>>({});
  const [wanted, setWanted] = useState("");
  const [options, setOptions] = useState({
    run: "",
    steps: "",
    seeds: "",
    ranks: "",
    gpuIndex: "",
  });
  const [isCompared, setCompared] = useState(false);
  const { error, setError, isBusy, sending } = useSending();
  // One key for what is being tried: a second press, or a retry after a lost answer, starts nothing twice.
  const attempt = useRef(crypto.randomUUID());
  useEffect(() => {
    attempt.current = crypto.randomUUID();
    // What was wrong is another request's.
    setError(null);
  }, [typed, options, isCompared]);
  const { form, wrong: blamed, elsewhere } = useProblem(error);
  const wrong = optionProblem(blamed, options);

  const number = (name: "steps" | "ranks" | "gpuIndex") =>
    options[name] === "" ? undefined : Number(options[name]);
  const request = () => ({
    kind: isCompared ? "compare" : preset.kind,
    preset: preset.name,
    set: changes.map(([key, { value }]) => `${key}=${JSON.stringify(value)}`),
    run: options.run || undefined,
    steps: number("steps"),
    ranks: isCompared ? undefined : number("ranks"),
    seeds: isCompared && options.seeds.trim() !== ""
      ? options.seeds.split(",").map(Number)
      : undefined,
    gpuIndex: number("gpuIndex"),
  });
  const submit = sending(async () => {
    // A field that is not shown could not be blamed.
    setWanted("");
    const headers = { "idempotency-key": attempt.current };
    const answer = await send("POST", "/api/runs", { body: request(), headers });
    const run: RunView = await answer.json();
    refreshRuns();
    go({ screen: "run", view: "curves", runs: [run.id] });
  });
  const type = (field: Field, text: string) =>
    setTyped((known) => ({ ...known, [field.key]: { text, value: typedValue(field, text) } }));
  const presetValue = (key: string) => {
    const value = settingAt(preset.configuration, key);
    return value === undefined && schema !== null ? defaultAt(schema, key) : value;
  };
  const changes = Object.entries(typed).filter(([key, { value }]) =>
    JSON.stringify(value) !== JSON.stringify(presetValue(key))
  );
  const valueOf = (key: string) => Object.hasOwn(typed, key) ? typed[key].value : presetValue(key);
  const isWanted = (field: Field): boolean =>
    wanted === "" || field.key.includes(wanted) ||
    field.description.toLowerCase().includes(wanted.toLowerCase()) ||
    field.fields.some(isWanted);

  return (
    <form class="start-form" onSubmit={submit} ref={form} noValidate>
      <p class="quiet">{preset.description}</p>
      <Output folder={valueOf("output_directory")} />
      <datalist id="models">
        {(found?.models ?? []).map(({ path }) => <option key={path} value={path} />)}
      </datalist>
      {preset.kind === "train" && (
        <label class="field check">
          <input
            type="checkbox"
            checked={isCompared}
            onChange={() => setCompared(!isCompared)}
          />
          Compare it with the generator alone and with a frozen verifier, over several seeds
        </label>
      )}
      <div class="fields">
        {(["run", "steps", isCompared ? "seeds" : "ranks", "gpuIndex"] as const).map((name) => {
          const { label, hint, least }: { label: string; hint: string; least?: number } =
            OPTIONS[name];
          return (
            <div class="field" key={name}>
              <label for={`option-${name}`}>{label}</label>
              <input
                id={`option-${name}`}
                type={least === undefined ? "text" : "number"}
                min={least}
                value={options[name]}
                {...describedBy(wrong, name, `option-hint-${name}`)}
                onInput={({ currentTarget: { value } }) =>
                  setOptions((known) => ({ ...known, [name]: value }))}
              />
              <ProblemOf wrong={wrong} field={name} />
              <p class="hint" id={`option-hint-${name}`}>{hint}</p>
            </div>
          );
        })}
      </div>
      <Failure error={elsewhere ?? schemaError} />
      {changes.length > 0 && (
        <p class="changes" role="status">
          Changed:{" "}
          {changes.map(([key, { value }]) => <code key={key}>{key}={formatValue(value)}</code>)}
        </p>
      )}
      <div class="buttons">
        <button type="submit" class="primary" disabled={isBusy}>
          {isBusy ? "Starting …" : "Start"}
        </button>
        <PlanButton label="Memory plan" request={request} />
      </div>
      {schema !== null && (
        <section aria-labelledby="everything">
          <h2 id="everything">Everything else</h2>
          <SearchField label="Only keys about" wanted={wanted} onInput={setWanted} />
          <div class="fields">
            {schemaFields(schema).filter(({ key }) => key !== "run_directory").map((field) => (
              <FormField
                key={field.key}
                field={field}
                valueOf={valueOf}
                textOf={(key) => Object.hasOwn(typed, key) ? typed[key].text : null}
                isChanged={(key) => changes.some(([changed]) => changed === key)}
                onType={type}
                isWanted={isWanted}
                wrong={wrong}
              />
            ))}
          </div>
        </section>
      )}
    </form>
  );
}

/** Fine-tuning writes its model where the configuration says, over what is there. */
function Output({ folder }: { folder: unknown }) {
  if (typeof folder !== "string") return null;
  return (
    <p class="notice">
      Its model goes to <code>{folder}</code> (output_directory), in place of what is there.
    </p>
  );
}

/** Options stand for keys of the configuration, which is what the server blames. */
function optionProblem(
  problem: FieldProblem | null,
  { steps }: { steps: string },
): FieldProblem | null {
  if (problem !== null && /^seeds\b/.test(problem.field)) return { ...problem, field: "seeds" };
  if (problem?.field !== "schedule.total_training_steps" || steps === "") return problem;
  return { ...problem, field: "steps" };
}
