import { UserError } from "../../../base/user_error.ts";
import { type Format, makeRecord } from "../record.ts";
import { type Place, placeText, type Row } from "../row.ts";
import {
  answerFrom,
  findColumn,
  listFrom,
  objectFrom,
  optionalTextOf,
  textFrom,
  textOf,
} from "../row_values.ts";

/**
 * TableBench, questions about tables (Wu et al. 2024, arXiv:2408.09174). Two of its kinds of question are
 * taken, those whose answers are short and exact: a chart's is a program, an analysis' often a text. Single
 * numbers are compared as mathematics, other answers as text.
 */
export const tablebench: Format = {
  name: "tablebench",
  description: "TableBench: facts to check and numbers to find in tables (no charts, no analyses)",
  columns: ["qtype", "table", "question", "answer"],

  toRecord(row, place) {
    const kind = optionalTextOf(row, ["qtype"], place);
    if (kind !== null && !KINDS.includes(kind)) return { leftOut: `question for ${kind}` };
    const question = textOf(row, ["question"], place);
    if (question === null) return { leftOut: "no question" };
    const where = `${placeText(place)}, column "answer"`;
    const answer = answerFrom(row[findColumn(row, ["answer"], place)], where);
    return makeRecord({
      question: `Answer the question about this table.\n\n${
        renderTable(row, place)
      }\n\n${question.trim()}`,
      answer,
      comparison: answer !== null && /^-?[\d,]*\.?\d+%?$/.test(answer) ? "math" : "text",
      source: kind ?? "tablebench",
    });
  },
};

const KINDS: readonly string[] = ["FactChecking", "NumericalReasoning"];

/** The table in Markdown: `{columns, data}` or JSON text of it. */
function renderTable(row: Row, place: Place): string {
  const where = `${placeText(place)}, column "table"`;
  const table = objectFrom(row[findColumn(row, ["table"], place)], where);
  const header = cells(table.columns, `${where}, columns`);
  const rows = listFrom(table.data, `${where}, data`).map((data, index) => {
    const found = cells(data, `${where}, row ${index + 1}`);
    if (found.length === header.length) return found;
    throw new UserError(
      `${where}, row ${
        index + 1
      }: found ${found.length} cells, expected ${header.length} as in the header.`,
    );
  });
  return [header, header.map(() => "---"), ...rows]
    .map((line) => `| ${line.join(" | ")} |`)
    .join("\n");
}

function cells(value: unknown, where: string): string[] {
  return listFrom(value, where).map((cell) =>
    (textFrom(cell, where) ?? "").trim().replace(/\s+/g, " ").replaceAll("|", "\\|")
  );
}
