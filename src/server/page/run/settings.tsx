import { useState } from "preact/hooks";
import { formatValue } from "../format.ts";
import { runPath, send } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import { Head } from "../parts/head.tsx";
import { describedBy, ProblemOf, useProblem } from "../parts/problem_of.tsx";
import { SearchField } from "../parts/search_field.tsx";
import { isLive } from "./states.ts";
import { flatten } from "./flatten.ts";
import type { RunView } from "../../runs/run_view.ts";
import type { ConfigurationInForce } from "../../runs/configuration_in_force.ts";

/** What may change while the run goes on, what changed, and the configuration in force. */
export function Settings({ run, version }: { run: RunView; version: string }) {
  const [changed, setChanged] = useState(0);
  const { answer, error } = useLoaded<ConfigurationInForce>(
    runPath(run.id, "config"),
    `${version} ${changed}`,
  );
  if (answer === null) return <Failure error={error} />;
  const { configuration, changeable, changes } = answer;
  return (
    <>
      {Object.keys(changeable).length > 0 && (
        <ChangeForm
          run={run}
          changeable={changeable}
          onChanged={() => setChanged((number) => number + 1)}
        />
      )}
      {changes.length > 0 && (
        <section>
          <h2>Changed so far</h2>
          <ul>
            {changes.map(({ step, settings, before }) => (
              <li key={step}>
                from step {step}: {Object.entries(settings).map(([key, value]) =>
                  `${key} = ${value} (was ${formatValue(before[key])})`
                ).join(", ")}
              </li>
            ))}
          </ul>
        </section>
      )}
      <Configuration configuration={configuration} changes={changes} />
    </>
  );
}

function ChangeForm(
  { run, changeable, onChanged }: {
    run: RunView;
    changeable: ConfigurationInForce["changeable"];
    onChanged: () => void;
  },
) {
  const [typed, setTyped] = useState<Record<string, string>>({});
  const [message, setMessage] = useState("");
  const { error, sending } = useSending();
  const edits = Object.entries(typed).filter(([key, text]) => text !== String(changeable[key]));
  const canChange = isLive(run.state) && run.state !== "stopping";
  const { form, wrong, elsewhere } = useProblem(error);
  const submit = sending(async () => {
    const isNumber = (key: string, text: string) =>
      typeof changeable[key] === "number" && text.trim() !== "" && Number.isFinite(Number(text));
    const body = Object.fromEntries(
      edits.map(([key, text]) => [key, isNumber(key, text) ? Number(text) : text]),
    );
    setMessage("");
    await send("PATCH", runPath(run.id, "settings"), { body });
    setTyped({});
    setMessage("Holds from the next step on.");
    onChanged();
  });
  return (
    <form class="change" onSubmit={submit} ref={form}>
      <h2>May change while it runs</h2>
      <div class="fields">
        {Object.entries(changeable).map(([key, value]) => (
          <label class="field" key={key}>
            <span class="key">{key}</span>
            <input
              name={key}
              value={typed[key] ?? String(value)}
              inputMode={typeof value === "number" ? "decimal" : "text"}
              disabled={!canChange}
              {...describedBy(wrong, key, null)}
              onInput={({ currentTarget }) => {
                const { value: text } = currentTarget;
                setTyped((known) => ({ ...known, [key]: text }));
              }}
            />
            <ProblemOf wrong={wrong} field={key} />
          </label>
        ))}
      </div>
      <Failure error={elsewhere} />
      {canChange
        ? (
          <button type="submit" class="primary" disabled={edits.length === 0}>
            Change from the next step on
          </button>
        )
        : <p class="quiet">Settings change while a run runs or is paused.</p>}
      <span role="status" class="message">{message}</span>
    </form>
  );
}

function Configuration(
  { configuration, changes }: Pick<ConfigurationInForce, "configuration" | "changes">,
) {
  const since = new Map(
    changes.flatMap(({ step, settings }) =>
      Object.keys(settings).map((key) => [key, step] as const)
    ),
  );
  const [wanted, setWanted] = useState("");
  const entries = flatten(configuration).filter(([key, value]) =>
    `${key} ${formatValue(value)}`.includes(wanted)
  );
  return (
    <section>
      <h2>Configuration in force</h2>
      <SearchField label="Only keys or values with" wanted={wanted} onInput={setWanted} />
      <table class="configuration">
        <Head titles={["Key", "Value"]} />
        <tbody>
          {entries.map(([key, value]) => (
            <tr key={key}>
              <th scope="row">{key}</th>
              <td>
                {formatValue(value)}
                {since.has(key) && <span class="badge warm">since step {since.get(key)}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
