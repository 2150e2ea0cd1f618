import { useState } from "preact/hooks";
import { send } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { useSending } from "../live/use_sending.ts";
import { Failure } from "../parts/failure.tsx";
import { describedBy, type FieldProblems, ProblemOf } from "../parts/problem_of.tsx";
import { settingAt } from "./schema_fields.ts";
import type { CheckedData, ListedDataSet } from "../../routes/datasets.ts";

/** Which problems or examples a run takes: those of its preset, or a data set of the server. */
export function DataChoice(
  { value, base, task, wrong, onChange }: {
    /** The key `data` as it is now, and as the preset has it. */
    value: unknown;
    base: unknown;
    /** The embedded one. */
    task: unknown;
    /** What the server refused. */
    wrong: FieldProblems;
    /** @param value undefined: as the preset has it */
    onChange: (value: unknown) => void;
  },
) {
  const { answer, error } = useLoaded<{ datasets: ListedDataSet[] }>("/api/datasets");
  const { error: refused, isBusy, sending } = useSending();
  const [asked, setAsked] = useState<string | null>(null);
  const isBase = JSON.stringify(value) === JSON.stringify(base);
  const known = (answer?.datasets ?? []).map(({ path }) => path);
  const present = isBase ? "" : pathsOf(value);
  const shown = isBusy && asked !== null ? asked : present;
  const choose = (path: string) => {
    setAsked(path);
    void sending(async () => {
      const set = answer?.datasets.find((one) => one.path === path);
      if (set === undefined) return onChange(undefined);
      const checking = `/api/datasets/${encodeURIComponent(set.name)}/check`;
      const checked: CheckedData = await (await send("POST", checking, { body: {} })).json();
      onChange(checked.data);
      const [first] = checked.firstErrors;
      if (first !== undefined) {
        throw new Error(`${first} Say under Data which columns hold what, and check it there.`);
      }
    })();
  };
  return (
    <div class="field">
      <label for="field-of-data">Data</label>
      <select
        id="field-of-data"
        value={shown}
        disabled={isBusy}
        {...describedBy(wrong, "data", "hint-of-data")}
        onChange={({ currentTarget }) => choose(currentTarget.value)}
      >
        <option value="" selected={shown === ""}>
          {base === null || base === undefined
            ? `embedded problems (${task ?? "task"})`
            : pathsOf(base)}
        </option>
        {[...new Set([...(present === "" ? [] : [present]), ...known])].map((path) => (
          <option key={path} value={path} selected={path === shown}>{path}</option>
        ))}
      </select>
      <ProblemOf wrong={wrong} field="data" />
      <div aria-live="polite">
        <Failure error={refused ?? error} />
        <p class="hint" id="hint-of-data">{isBusy ? "Reading it …" : describeColumns(value)}</p>
      </div>
    </div>
  );
}

/** Its files and folders. */
function pathsOf(data: unknown): string {
  return entriesOf(data).map((entry) => String(entry.path)).join(", ") || "own data";
}

/** Which columns are what. */
function describeColumns(data: unknown): string {
  const mapped = entriesOf(data).flatMap(({ columns, format }) =>
    typeof columns === "object" && columns !== null
      ? Object.entries(columns).map(([what, column]) => `${what.replaceAll("_", " ")}: ${column}`)
      : typeof format === "string"
      ? [`as ${format}`]
      : []
  );
  return mapped.length === 0 ? "Problems to learn from." : mapped.join(" · ");
}

function entriesOf(data: unknown): Record<string, unknown>[] {
  const train = typeof data === "object" && data !== null
    ? settingAt({ data }, "data.train")
    : null;
  return Array.isArray(train) ? train : [];
}
