/** What a judged bank leaves: `rows.jsonl`, `rows.csv`, `matrix.csv` and `bank.md`. */

import { join } from "node:path";
import { writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { balancedError } from "../../base/statistics.ts";
import { alignedTable } from "../../base/table.ts";
import type { Bank } from "./bank_file.ts";
import { ALL_SOURCES, type BankRow, MEASURES } from "./bank_measures.ts";

/** Paths in the folder of a judged bank. */
export const judgedFiles = (path: string) => ({
  judgments: join(path, "judgments.jsonl"),
  rows: join(path, "rows.jsonl"),
  table: join(path, "rows.csv"),
  matrix: join(path, "matrix.csv"),
  report: join(path, "bank.md"),
});

/** Writes the files anew, and returns the tables. */
export function writeBankReport(path: string, bank: Bank, rows: readonly BankRow[]): string {
  const files = judgedFiles(path);
  const tables = bankTables(bank, rows);
  writeFileAtomically(files.rows, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  writeFileAtomically(files.table, rowsCsv(rows));
  writeFileAtomically(files.matrix, matrixCsv(bank, rows));
  writeFileAtomically(files.report, `# ${bank.path}\n\n${tables}\n`);
  return tables;
}

const HEADS: Readonly<Record<typeof MEASURES[number], string>> = {
  auroc: "AUROC",
  balanced_accuracy: "verdicts",
  step_balanced_accuracy: "steps",
  step_balanced_accuracy_in_wrong: "steps in wrong",
  step_auroc_in_wrong: "step AUROC in wrong",
  step_auroc_in_wrong_by_place: "by place alone",
  first_error_accuracy: "first error",
  verdict_is_conjunction: "consistent",
  own_result_differs: "own result differs",
  own_result_agrees: "own result agrees",
  verdict_unparsed: "unreadable",
  steps_equal: "judges each step",
  cut: "cut",
};

const percent = (value: number | undefined) =>
  value === undefined ? "–" : `${(100 * value).toFixed(1)} %`;

/** Those measures that some row has: of unknown steps nothing is told. */
const measured = (rows: readonly BankRow[]) =>
  MEASURES.filter((name) => rows.some((row) => row[name] !== undefined));

/** The tables for people: every verifier on the whole bank, and verdicts by who wrote the solutions. */
export function bankTables(bank: Bank, rows: readonly BankRow[]): string {
  const whole = rows.filter(({ source }) => source === ALL_SOURCES);
  const names = measured(whole);
  const right = bank.solutions.filter(({ correct }) => correct).length;
  const samples = rows[0]?.samples ?? 0;
  const problems = new Set(bank.solutions.map(({ problem }) => problem)).size;
  return [
    `${bank.task}: ${bank.solutions.length} solutions of ${problems} ${
      problems === 1 ? "problem" : "problems"
    }, ` +
    `${right} of them right; ` +
    `${samples} ${samples === 1 ? "critique" : "critiques"} of each`,
    "",
    alignedTable([
      ["verifier", ...names.map((name) => HEADS[name])],
      ...whole.map((row) => [row.verifier, ...names.map((name) => percent(row[name]))]),
    ]),
    "",
    "Balanced accuracy of verdicts by who wrote the solutions:",
    "",
    alignedTable(matrix(bank, rows, percent)),
    "",
    "Verdicts and steps are balanced accuracies; a verdict that cannot be read is wrong. " +
    uncertainty(bank, problems),
  ].join("\n");
}

/** Solutions of one problem are alike, so that over all sources its problems are counted. */
function uncertainty({ solutions, bySource }: Bank, problems: number): string {
  const errors = [...bySource.values()].flatMap((places) => {
    const right = places.filter((place) => solutions[place].correct).length;
    const wrong = places.length - right;
    return right === 0 || wrong === 0 ? [] : [balancedError(right, wrong)];
  });
  const all = `±${percent(Math.sqrt(0.25 / problems))}`;
  return `Verdicts are uncertain by at most ${all} over all sources` +
    (errors.length === 0 ? "" : `, by ±${percent(Math.max(...errors))} over one`) +
    " (standard error over the problems).";
}

/** Verifiers down, sources across; balanced accuracy of verdicts. */
function matrix(
  { bySource }: Bank,
  rows: readonly BankRow[],
  say: (value: number | undefined) => string,
): string[][] {
  const sources = [...bySource.keys()];
  const verifiers = [...Map.groupBy(rows, ({ verifier }) => verifier)];
  return [
    ["verifier", ...sources],
    ...verifiers.map(([verifier, own]) => [
      verifier,
      ...sources.map((source) => say(own.find((row) => row.source === source)?.balanced_accuracy)),
    ]),
  ];
}

/** A line for each row; a measure that no row has is no column, and one that this row has not is empty. */
export function rowsCsv(rows: readonly BankRow[]): string {
  const facts = ["verifier", "run", "step", "source", "solutions", "samples"] as const;
  const columns = [...facts, ...measured(rows)];
  return csvOf([columns, ...rows.map((row) => columns.map((name) => row[name]))]);
}

function matrixCsv(bank: Bank, rows: readonly BankRow[]): string {
  return csvOf(matrix(bank, rows, (value) => String(value ?? "")));
}

function csvOf(rows: readonly (readonly (string | number | null | undefined)[])[]): string {
  const cell = (value: string | number | null | undefined) => {
    const text = String(value ?? "");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
}
