/** How the columns of a data set are read. */

import type { Mapping } from "../../datasets/kept_readings.ts";

export const COLUMNS = {
  question: { label: "Problem", hint: "what is asked" },
  answer: { label: "Answer", hint: "the reference answer" },
  solution: { label: "Solution", hint: "a written one, to imitate" },
  rejected: { label: "Rejected", hint: "a worse response than the solution" },
  solution_steps: { label: "Solution in steps", hint: "a list of texts" },
  source: { label: "Source", hint: "a name that measurements go by" },
  judged_steps: { label: "Judged steps", hint: "a solution to be judged, as a list of texts" },
  first_error: { label: "First wrong step", hint: "its place from 0, or -1" },
} as const;
export type ColumnName = keyof typeof COLUMNS;

export const COMPARISONS: [string, string][] = [
  ["", "as mathematics"],
  ["text", "as text"],
  ["literal", "letter by letter"],
];

/** What is chosen by boxes. */
export interface Chosen {
  /** Of the published format, or "" to read by columns. */
  readonly format: string;
  readonly columns: Readonly<Partial<Record<ColumnName | "comparison", string>>>;
}

/** The separator of several columns that make one question, which no choice has in its name. */
const AND = "\u001f";

/** What the boxes show of a mapping. */
export function chosenOf(mapping: Mapping | null): Chosen {
  const { question, ...others } = mapping?.columns ?? { question: "" };
  return {
    format: mapping?.format ?? "",
    columns: { ...others, question: [question].flat().join(AND) },
  };
}

/** The mapping that the boxes say; null without a column for problems. */
export function mappingOf({ format, columns }: Chosen): Mapping | null {
  if (format !== "") return { format, columns: null };
  if (!columns.question) return null;
  const named = Object.entries(columns).filter(([, column]) => column);
  const parts = columns.question.split(AND);
  const question = parts.length === 1 ? parts[0] : parts;
  return { format: null, columns: { ...Object.fromEntries(named), question } };
}

/** Choices for a box: none, the columns, and what is chosen where it is something else, such as a path into one. */
export function columnOptions(names: readonly string[], chosen: string): [string, string][] {
  const others = chosen === "" || names.includes(chosen)
    ? []
    : [[chosen, chosen.split(AND).join(" and ")] as [string, string]];
  return [["", "–"], ...others, ...names.map((name): [string, string] => [name, name])];
}
