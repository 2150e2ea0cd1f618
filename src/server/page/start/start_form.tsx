import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatValue } from "../format.ts";
import { send } from "../live/api.ts";
import { go } from "../live/route.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { useSending } from "../live/use_sending.ts";
import { refreshRuns } from "../live/use_runs.ts";
import { Failure } from "../parts/failure.tsx";
import { useProblem } from "../parts/problem_of.tsx";
import { AllSettings } from "./all_settings.tsx";
import { DataChoice } from "./data_choice.tsx";
import { FormField } from "./form_field.tsx";
import { impliedSettings } from "./implied_settings.ts";
import { mainFields } from "./main_fields.ts";
import { OptionField, type Options } from "./option_field.tsx";
import { PlanButton } from "./plan_button.tsx";
import {
  defaultAt,
  type Field,
  fieldAt,
  schemaFields,
  settingAt,
  typedValue,
} from "./schema_fields.ts";
import type { ModelList } from "../../models/model_schemas.ts";
import type { RunAgain } from "../../routes/runs.ts";
import type { RunView } from "../../runs/run_view.ts";
import type { Schema } from "../api/schema_types.ts";

/** What a new run is to be but for what is changed in its form. */
export interface RunBase extends RunAgain {
  /** Of its preset; null: it is all in the configuration. */
  readonly name: string | null;
  readonly description: string;
}

interface Typed {
  readonly text: string;
  readonly value: unknown;
}

/** The form of a new run, made from the configuration's own schema: what matters most, and the rest behind a search. */
export function StartForm(
  { base, filled }: { base: RunBase; filled: Readonly<Record<string, unknown>> },
) {
  const { kind, configuration } = base;
  const { answer: schema, error: schemaError } = useLoaded<Schema>(`/api/schema?kind=${kind}`);
  const { answer: found } = useLoaded<ModelList>("/api/models");
  // Letter by letter, as it is typed: what is drawn anew meanwhile, for whatever reason, shows the same again.
  const [written, setTyped] = useState<Record<string, Typed>>(() => asTyped(filled));
  const [wanted, setWanted] = useState("");
  const [options, setOptions] = useState<Options>({
    run: "",
    gpuIndex: "",
    ranks: base.ranks === undefined ? "" : String(base.ranks),
    seeds: base.seeds?.join(",") ?? "",
  });
  const { error, setError, isBusy, sending } = useSending();
  // One key for what is being tried: a second press, or a retry after a lost answer, starts nothing twice.
  const attempt = useRef(crypto.randomUUID());
  useEffect(() => {
    attempt.current = crypto.randomUUID();
    // What was wrong is another request's.
    setError(null);
  }, [written, options]);
  const { form, wrong, elsewhere } = useProblem(error);
  // How to come by what is not there stands with the main fields, once.
  const wrongBelow = useMemo(() => wrong.map(({ remedy: _, ...rest }) => rest), [wrong]);

  const baseValue = (key: string) => {
    const value = settingAt(configuration, key);
    return value === undefined && schema !== null ? defaultAt(schema, key) : value;
  };
  const valueIn = (some: Record<string, Typed>) => (key: string) =>
    Object.hasOwn(some, key) ? some[key].value : baseValue(key);
  const typed = { ...asTyped(impliedSettings(kind, valueIn(written))), ...written };
  const valueOf = valueIn(typed);
  const changes = Object.entries(typed).filter(([key, { value }]) =>
    JSON.stringify(value) !== JSON.stringify(baseValue(key))
  );
  const number = (text: string) => text === "" ? undefined : Number(text);
  const request = () => ({
    kind,
    ...(base.name === null ? { configuration } : { preset: base.name }),
    set: changes.map(([key, { value }]) => `${key}=${JSON.stringify(value)}`),
    ranks: kind === "compare" ? undefined : number(options.ranks),
    seeds: kind === "compare" && options.seeds.trim() !== ""
      ? options.seeds.split(",").map(Number)
      : undefined,
    gpuIndex: number(options.gpuIndex),
  });
  const submit = sending(async () => {
    // A field that is not shown could not be blamed.
    setWanted("");
    const headers = { "idempotency-key": attempt.current };
    const body = { ...request(), run: options.run || undefined, requireFiles: true };
    const run: RunView = await (await send("POST", "/api/runs", { body, headers })).json();
    refreshRuns();
    go({ screen: "run", view: "curves", runs: [run.id] });
  });
  const put = (key: string, one: Typed | undefined) =>
    setTyped(({ [key]: _, ...others }) => one === undefined ? others : { ...others, [key]: one });
  const parts = {
    valueOf,
    textOf: (key: string) => Object.hasOwn(typed, key) ? typed[key].text : null,
    isChanged: (key: string) => changes.some(([changed]) => changed === key),
    onType: (field: Field, text: string) =>
      put(field.key, { text, value: typedValue(field, text) }),
    wrong,
  };
  const option = (name: keyof Options) => (
    <OptionField
      name={name}
      value={options[name]}
      wrong={wrong}
      onInput={(value) => setOptions((known) => ({ ...known, [name]: value }))}
    />
  );
  const main = mainFields(kind);
  const fields = schema === null ? [] : schemaFields(schema);
  // A run that trains its generator alone has no verifier to set.
  const shown = Object.keys(main).filter((key) =>
    !key.startsWith("verifier.") || valueOf("verifier") !== null
  );

  return (
    <form class="start-form" onSubmit={submit} ref={form} noValidate>
      {base.description !== "" && <p class="quiet">{base.description}</p>}
      <datalist id="models">
        {(found?.models ?? []).map(({ path }) => <option key={path} value={path} />)}
      </datalist>
      {schema !== null && (
        <div class="fields">
          {shown.slice(0, 2).map(mainField)}
          <DataChoice
            value={valueOf("data")}
            base={baseValue("data")}
            task={valueOf("task.name")}
            wrong={wrong}
            onChange={(value) =>
              put("data", value === undefined ? undefined : { text: JSON.stringify(value), value })}
          />
          {shown.slice(2).map(mainField)}
          {kind === "compare" && option("seeds")}
          {option("gpuIndex")}
          {option("run")}
        </div>
      )}
      <Failure error={elsewhere ?? schemaError} />
      {changes.length > 0 && (
        <p class="changes" role="status">
          Changed:{" "}
          {changes.map(([key, { value }]) => <code key={key}>{key}={formatValue(value)}</code>)}
        </p>
      )}
      <div class="buttons">
        <button type="submit" class="primary" disabled={isBusy || schema === null}>
          {isBusy ? "Starting …" : "Start"}
        </button>
        <PlanButton label="Memory plan" request={request} />
      </div>
      {schema !== null && (
        <AllSettings
          {...parts}
          wrong={wrongBelow}
          fields={fields}
          left={["run_directory", ...Object.keys(main)]}
          wanted={wanted}
          onWanted={setWanted}
        >
          {kind !== "compare" && option("ranks")}
        </AllSettings>
      )}
    </form>
  );

  function mainField(key: string) {
    const field = fieldAt(fields, key);
    return field && <FormField {...parts} field={field} label={main[key]} key={key} />;
  }
}

/** Values as if they had been typed. */
function asTyped(filled: Readonly<Record<string, unknown>>): Record<string, Typed> {
  return Object.fromEntries(
    Object.entries(filled).map(([key, value]) => [key, { text: formatValue(value), value }]),
  );
}
