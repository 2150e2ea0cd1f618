import { Choice } from "../parts/choice.tsx";
import {
  type Chosen,
  chosenOf,
  type ColumnName,
  columnOptions,
  COLUMNS,
  COMPARISONS,
} from "./reading.ts";
import type { Mapping } from "../../datasets/kept_readings.ts";

/** Boxes that say which column holds what, filled in with what the names suggest. */
export function MappingFields(
  { columns, formats, proposed, chosen, onChange }: {
    columns: readonly string[];
    /** Published ones. */
    formats: readonly string[];
    proposed: Mapping | null;
    chosen: Chosen;
    onChange: (chosen: Chosen) => void;
  },
) {
  const set = (name: ColumnName | "comparison", column: string) =>
    onChange({ ...chosen, columns: { ...chosen.columns, [name]: column } });
  return (
    <>
      <Choice
        class="field"
        label="As"
        value={chosen.format}
        options={[
          ["", "the columns chosen here"],
          ...formats.map((name): [string, string] => [name, `the published format ${name}`]),
        ]}
        onChange={(format) => onChange({ ...chosenOf(proposed), format })}
      />
      {chosen.format === "" && (
        <div class="fields">
          {(Object.keys(COLUMNS) as ColumnName[]).map((name) => {
            const { label, hint } = COLUMNS[name];
            const column = chosen.columns[name] ?? "";
            return (
              <Choice
                key={name}
                class="field"
                label={`${label}: ${hint}`}
                value={column}
                options={columnOptions(columns, column)}
                onChange={(column) => set(name, column)}
              />
            );
          })}
          <Choice
            class="field"
            label="Answers are compared"
            value={chosen.columns.comparison ?? ""}
            options={COMPARISONS}
            onChange={(comparison) => set("comparison", comparison)}
          />
        </div>
      )}
    </>
  );
}
