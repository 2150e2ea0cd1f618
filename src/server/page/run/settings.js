import { Fragment, h, useState } from "../vendor.js";
import { formatValue } from "../format.js";
import { runPath, send } from "../live/api.js";
import { useLoaded } from "../live/use_loaded.js";
import { Failure } from "../parts/failure.js";
import { describedBy, fieldProblem, ProblemOf, useProblem } from "../parts/problem_of.js";
import { isLive } from "./states.js";
import { flatten } from "./flatten.js";

/**
 * @import { Run, RunConfiguration } from "../contract.ts"
 */

/**
 * What may change while the run goes on, what changed, and the configuration in force.
 *
 * @param {{ run: Run, version: string }} props
 */
export function Settings({ run, version }) {
  const [changed, setChanged] = useState(0);
  /** @type {{ answer: RunConfiguration | null, error: Error | null }} */
  const { answer, error } = useLoaded(runPath(run.id, "config"), `${version} ${changed}`);
  if (answer === null) return h(Failure, { error });
  const { configuration, changeable, changes } = answer;
  return h(
    Fragment,
    null,
    Object.keys(changeable).length === 0 ? null : h(ChangeForm, {
      run,
      changeable,
      onChanged: () => setChanged((number) => number + 1),
    }),
    changes.length === 0 ? null : h(
      "section",
      null,
      h("h2", null, "Changed so far"),
      h(
        "ul",
        null,
        changes.map(({ step, settings, before }) =>
          h(
            "li",
            { key: step },
            `from step ${step}: `,
            Object.entries(settings).map(([key, value]) =>
              `${key} = ${value} (was ${formatValue(before[key])})`
            ).join(", "),
          )
        ),
      ),
    ),
    h(Configuration, { configuration, changes }),
  );
}

/**
 * @param {{ run: Run, changeable: RunConfiguration["changeable"], onChanged: () => void }} props
 */
function ChangeForm({ run, changeable, onChanged }) {
  const [typed, setTyped] = useState(/** @type {Record<string, string>} */ ({}));
  const [message, setMessage] = useState("");
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const edits = Object.entries(typed).filter(([key, text]) => text !== String(changeable[key]));
  const canChange = isLive(run.state) && run.state !== "stopping";
  const wrong = fieldProblem(error);
  const { form, elsewhere } = useProblem(error);
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    const body = Object.fromEntries(
      edits.map((
        [key, text],
      ) => [
        key,
        typeof changeable[key] === "number" && text.trim() !== "" && Number.isFinite(Number(text))
          ? Number(text)
          : text,
      ]),
    );
    setError(null);
    setMessage("");
    try {
      await send("PATCH", runPath(run.id, "settings"), { body });
      setTyped({});
      setMessage("Holds from the next step on.");
      onChanged();
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
    }
  };
  return h(
    "form",
    { class: "change", onSubmit: submit, ref: form },
    h("h2", null, "May change while it runs"),
    h(
      "div",
      { class: "fields" },
      Object.entries(changeable).map(([key, value]) =>
        h(
          "label",
          { class: "field", key },
          h("span", { class: "key" }, key),
          h("input", {
            name: key,
            value: typed[key] ?? String(value),
            inputMode: typeof value === "number" ? "decimal" : "text",
            disabled: !canChange,
            ...describedBy(wrong, key, null),
            onInput: (
              /** @type {Event & { currentTarget: HTMLInputElement }} */ { currentTarget },
            ) => {
              const { value: text } = currentTarget;
              setTyped((known) => ({ ...known, [key]: text }));
            },
          }),
          h(ProblemOf, { wrong, field: key }),
        )
      ),
    ),
    h(Failure, { error: elsewhere }),
    canChange
      ? h(
        "button",
        { type: "submit", class: "primary", disabled: edits.length === 0 },
        "Change from the next step on",
      )
      : h("p", { class: "quiet" }, "Settings change while a run runs or is paused."),
    h("span", { role: "status", class: "message" }, message),
  );
}

/** @param {Pick<RunConfiguration, "configuration" | "changes">} props */
function Configuration({ configuration, changes }) {
  const since = new Map(
    changes.flatMap(({ step, settings }) =>
      Object.keys(settings).map((key) => /** @type {const} */ ([key, step]))
    ),
  );
  const [wanted, setWanted] = useState("");
  const entries = flatten(configuration).filter(([key, value]) =>
    `${key} ${formatValue(value)}`.includes(wanted)
  );
  return h(
    "section",
    null,
    h("h2", null, "Configuration in force"),
    h(
      "label",
      { class: "field" },
      "Only keys or values with",
      h("input", {
        type: "search",
        value: wanted,
        onInput: (/** @type {Event & { currentTarget: HTMLInputElement }} */ { currentTarget }) =>
          setWanted(currentTarget.value),
      }),
    ),
    h(
      "table",
      { class: "configuration" },
      h(
        "thead",
        null,
        h("tr", null, h("th", { scope: "col" }, "Key"), h("th", { scope: "col" }, "Value")),
      ),
      h(
        "tbody",
        null,
        entries.map(([key, value]) =>
          h(
            "tr",
            { key },
            h("th", { scope: "row" }, key),
            h(
              "td",
              null,
              formatValue(value),
              since.has(key)
                ? h("span", { class: "badge warm" }, `since step ${since.get(key)}`)
                : null,
            ),
          )
        ),
      ),
    ),
  );
}
