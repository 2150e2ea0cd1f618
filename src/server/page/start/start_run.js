import { h, useEffect, useRef, useState } from "../vendor.js";
import { formatValue } from "../format.js";
import { send } from "../live/api.js";
import { go } from "../live/route.js";
import { useLoaded } from "../live/use_loaded.js";
import { refreshRuns } from "../live/use_runs.js";
import { Failure } from "../parts/failure.js";
import { describedBy, fieldProblem, ProblemOf, useProblem } from "../parts/problem_of.js";
import { FormField } from "./form_field.js";
import { PlanButton } from "./plan_button.js";
import { defaultAt, schemaFields, typedValue, valueAt } from "./schema_fields.js";

/**
 * @import { ModelList, Plan, Preset, Run, Schema } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 * @import { FieldProblem } from "../parts/problem_of.js"
 * @import { Field } from "./schema_fields.js"
 */

/** @typedef {{ text: string, value: unknown }} Typed */
/** @typedef {Event & { currentTarget: HTMLInputElement }} InputEvent */
/** @typedef {Event & { currentTarget: HTMLSelectElement }} SelectEvent */

/**
 * Starts a run from a preset; the form is made from the configuration's own schema.
 *
 * @param {{ route: PageState }} props
 */
export function StartRun({ route }) {
  /** @type {{ answer: { presets: Preset[] } | null, error: Error | null }} */
  const { answer, error } = useLoaded("/api/presets");
  const presets = answer?.presets ?? [];
  const preset = presets.find(({ name }) => name === route.preset) ?? presets[0];
  return h(
    "article",
    { class: "start", "aria-labelledby": "start-title" },
    h("h1", { id: "start-title" }, "Start a run"),
    h(Failure, { error }),
    answer !== null && preset === undefined
      ? h("p", { class: "notice" }, "The server has no presets.")
      : null,
    preset === undefined ? null : h(
      "label",
      { class: "field" },
      "Preset",
      h(
        "select",
        {
          value: preset.name,
          onChange: (/** @type {SelectEvent} */ { currentTarget }) =>
            go({ preset: currentTarget.value }, { replace: true }),
        },
        presets.map(({ name, kind }) =>
          h(
            "option",
            { key: name, value: name, selected: name === preset.name },
            kind === "train" ? name : `${name} (${kind})`,
          )
        ),
      ),
    ),
    preset === undefined ? null : h(StartForm, { preset, key: preset.name }),
  );
}

/** @param {{ preset: Preset }} props */
function StartForm({ preset }) {
  /** @type {{ answer: Schema | null, error: Error | null }} */
  const { answer: schema, error: schemaError } = useLoaded(`/api/schema?kind=${preset.kind}`);
  /** @type {{ answer: ModelList | null, error: Error | null }} */
  const { answer: found } = useLoaded("/api/models");
  // Letter by letter, as it is typed: what is drawn anew meanwhile, for whatever reason, shows the same again.
  const [typed, setTyped] = useState(/** @type {Record<string, Typed>} */ ({}));
  const [wanted, setWanted] = useState("");
  const [options, setOptions] = useState({
    ...{ run: "", steps: "", ranks: "", gpuIndex: "" },
    ...{ isCompared: false, seeds: "" },
  });
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  // One key for what is being tried: a second press, or a retry after a lost answer, starts nothing twice.
  const attempt = useRef(crypto.randomUUID());
  useEffect(() => {
    attempt.current = crypto.randomUUID();
    // What was wrong is another request's.
    setError(null);
  }, [typed, options]);
  const wrong = optionProblem(fieldProblem(error), options);
  const { form, elsewhere } = useProblem(error);

  const request = () => ({
    kind: options.isCompared ? "compare" : preset.kind,
    preset: preset.name,
    set: changes.map(([key, { value }]) => `${key}=${JSON.stringify(value)}`),
    ...(options.run === "" ? {} : { run: options.run }),
    ...(options.steps === "" ? {} : { steps: Number(options.steps) }),
    ...(options.ranks === "" || options.isCompared ? {} : { ranks: Number(options.ranks) }),
    ...(options.seeds.trim() === "" || !options.isCompared
      ? {}
      : { seeds: options.seeds.split(",").map(Number) }),
    ...(options.gpuIndex === "" ? {} : { gpuIndex: Number(options.gpuIndex) }),
  });
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const headers = { "idempotency-key": attempt.current };
      /** @type {Run} */
      const run = await (await send("POST", "/api/runs", { body: request(), headers })).json();
      refreshRuns();
      go({ screen: "run", view: "curves", runs: [run.id] });
    } catch (failure) {
      // A field that is not shown could not be blamed.
      setWanted("");
      setError(failure instanceof Error ? failure : new Error(String(failure)));
      setBusy(false);
    }
  };
  /** @param {Field} field @param {string} text */
  const type = (field, text) =>
    setTyped((known) => ({ ...known, [field.key]: { text, value: typedValue(field, text) } }));
  /** @param {string} key */
  const presetValue = (key) => {
    const value = valueAt(preset.configuration, key);
    return value === undefined && schema !== null ? defaultAt(schema, key) : value;
  };
  const changes = Object.entries(typed).filter(([key, { value }]) =>
    JSON.stringify(value) !== JSON.stringify(presetValue(key))
  );
  /** @param {string} key */
  const valueOf = (key) => Object.hasOwn(typed, key) ? typed[key].value : presetValue(key);
  /** @param {Field} field @returns {boolean} */
  const isWanted = (field) =>
    wanted === "" || field.key.includes(wanted) ||
    field.description.toLowerCase().includes(wanted.toLowerCase()) ||
    field.fields.some(isWanted);

  return h(
    "form",
    // The browser would say nothing of a field in a section that is closed; the server says all that is wrong.
    { class: "start-form", onSubmit: submit, ref: form, noValidate: true },
    h("p", { class: "quiet" }, preset.description),
    h(Output, { folder: valueOf("output_directory") }),
    h(
      "datalist",
      { id: "models" },
      (found?.models ?? []).map(({ path }) => h("option", { key: path, value: path })),
    ),
    preset.kind !== "train" ? null : h(
      "label",
      { class: "field check" },
      h("input", {
        type: "checkbox",
        checked: options.isCompared,
        onChange: (/** @type {InputEvent} */ { currentTarget: { checked } }) =>
          setOptions((known) => ({ ...known, isCompared: checked })),
      }),
      "Compare it with the generator alone and with a frozen verifier, over several seeds",
    ),
    h(
      "div",
      { class: "fields" },
      [
        {
          name: "run",
          label: "Name",
          hint: "of the run's folder; empty: the next free number",
          type: "text",
        },
        { name: "steps", label: "Steps", hint: "empty: as the preset says", type: "number" },
        options.isCompared
          ? {
            name: "seeds",
            label: "Seeds",
            hint: "separated by commas; empty: 0,1,2",
            type: "text",
          }
          : {
            name: "ranks",
            label: "Ranks",
            hint: "processes that share it, one for each GPU; empty: one",
            type: "number",
          },
        {
          name: "gpuIndex",
          label: "GPU",
          hint: "its number, as ./tango doctor shows; empty: the first with room",
          type: "number",
          least: 0,
        },
      ].map(({ name, label, hint, type: kind, least = 1 }) =>
        h(
          "div",
          { class: "field", key: name },
          h("label", { for: `option-${name}` }, label),
          h("input", {
            id: `option-${name}`,
            type: kind,
            min: kind === "number" ? least : undefined,
            value: Reflect.get(options, name),
            ...describedBy(wrong, name, `option-hint-${name}`),
            onInput: (/** @type {InputEvent} */ { currentTarget: { value } }) =>
              setOptions((known) => ({ ...known, [name]: value })),
          }),
          h(ProblemOf, { wrong, field: name }),
          h("p", { class: "hint", id: `option-hint-${name}` }, hint),
        )
      ),
    ),
    h(Failure, { error: elsewhere ?? schemaError }),
    changes.length === 0 ? null : h(
      "p",
      { class: "changes", role: "status" },
      "Changed: ",
      changes.map(([key, { value }]) => h("code", { key }, `${key}=${formatValue(value)}`)),
    ),
    h(
      "div",
      { class: "buttons" },
      h(
        "button",
        { type: "submit", class: "primary", disabled: isBusy },
        isBusy ? "Starting …" : "Start",
      ),
      h(PlanButton, {
        label: "Memory plan",
        load: async () => /** @type {Promise<Plan>} */ ((await send("POST", "/api/plan", {
          body: request(),
        })).json()),
      }),
    ),
    schema === null ? null : h(
      "section",
      { "aria-labelledby": "everything" },
      h("h2", { id: "everything" }, "Everything else"),
      h(
        "label",
        { class: "field" },
        "Only keys about",
        h("input", {
          type: "search",
          value: wanted,
          onInput: (/** @type {InputEvent} */ { currentTarget }) => setWanted(currentTarget.value),
        }),
      ),
      h(
        "div",
        { class: "fields" },
        // Where a run's files go is the server's business, and its name is above.
        schemaFields(schema).filter(({ key }) => key !== "run_directory").map((field) =>
          h(FormField, {
            key: field.key,
            field,
            valueOf,
            textOf: (key) => Object.hasOwn(typed, key) ? typed[key].text : null,
            isChanged: (key) => changes.some(([changed]) => changed === key),
            onType: type,
            isWanted,
            wrong,
          })
        ),
      ),
    ),
  );
}

/**
 * Fine-tuning writes its model where the configuration says, over what is there.
 *
 * @param {{ folder: unknown }} props
 */
function Output({ folder }) {
  if (typeof folder !== "string") return null;
  return h(
    "p",
    { class: "notice" },
    "Its model goes to ",
    h("code", null, folder),
    " (output_directory), in place of what is there.",
  );
}

/**
 * Options stand for keys of the configuration, which is what the server blames.
 *
 * @param {FieldProblem | null} problem
 * @param {{ steps: string }} options
 * @returns {FieldProblem | null}
 */
function optionProblem(problem, { steps }) {
  if (problem !== null && /^seeds\b/.test(problem.field)) return { ...problem, field: "seeds" };
  if (problem?.field !== "schedule.total_training_steps" || steps === "") return problem;
  return { ...problem, field: "steps" };
}
