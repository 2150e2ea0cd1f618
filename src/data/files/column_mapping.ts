import { UserError } from "../../base/user_error.ts";
import { lastBoxAnswer } from "./boxed_answer.ts";
import { isConversation, lastTurn, questionIn, replyIn } from "./chat_messages.ts";
import { columnValue, topColumn } from "./column_path.ts";
import {
  type ComparisonKind,
  type DataRecord,
  type LabelledSolution,
  type LeftOut,
  makeRecord,
} from "./record.ts";
import { type Place, placeText, type Row } from "./row.ts";
import { answerFrom, integerFrom, textFrom, textsFrom } from "./row_values.ts";
import { splitSolution } from "./solution_steps.ts";

/**
 * Which columns of a file hold what; each is a path as `valueAt` reads it. A column of chat messages gives
 * its last user message as question and the assistant's reply to it as solution.
 */
export interface ColumnMapping {
  /** Several columns are joined by blank lines, those without text left out. */
  readonly question: string | readonly string[];
  /** Column of the answer; by default the last \boxed{…} of the solution, if any. */
  readonly answer?: string;
  readonly solution?: string;
  /** A worse response than the solution. */
  readonly rejected?: string;
  /** A list of texts. Not given: the solution cut by paragraphs and sentences. */
  readonly solutionSteps?: string;
  readonly source?: string;
  /** A list of texts: a given solution to be judged. Needs `firstError`. */
  readonly judgedSteps?: string;
  /** Place of the first wrong one of `judgedSteps`, from 0; -1 when all are right. */
  readonly firstError?: string;
  /** "math" when not given. */
  readonly comparison?: ComparisonKind;
}

/** The columns of the file that a mapping reads. */
export function mappedColumns({ comparison: _, ...columns }: ColumnMapping): string[] {
  const paths = Object.values(columns).flat().filter((path) => path !== undefined);
  // A path may also be the name of a column with dots in it.
  return [...new Set(paths.flatMap((path) => [path, topColumn(path)]))];
}

/** The record of a row by a mapping. Throws a UserError that names place and column. */
export function mapColumns(row: Row, columns: ColumnMapping, place: Place): DataRecord | LeftOut {
  const read = (path: string) => columnValue(row, path, place);
  const where = (path: string) => `${placeText(place)}, column "${path}"`;
  const paths = [columns.question].flat();
  const cell = (path: string | undefined): Cell | null =>
    path === undefined ? null : { value: read(path), where: where(path) };
  const questions = paths.map((path) => questionFrom({ value: read(path), where: where(path) }));
  const question = questions.filter((text) => text !== null).join("\n\n");
  if (question === "") return { leftOut: "no question" };
  const responses = [cell(columns.solution), cell(columns.rejected)];
  const [asked, askedOfRejected] = responses.map(askedIn);
  if (asked !== null && askedOfRejected !== null && asked !== askedOfRejected) {
    return { leftOut: "responses to different questions" };
  }
  const [solution, rejected] = responses.map(responseFrom);
  const boxed = solution === null ? null : lastBoxAnswer(solution);
  const steps = columns.solutionSteps === undefined ? null : read(columns.solutionSteps);
  return makeRecord({
    question,
    answer: columns.answer === undefined
      ? boxed
      : answerFrom(read(columns.answer), where(columns.answer)),
    comparison: columns.comparison ?? "math",
    solution,
    rejected,
    solutionSteps: columns.solutionSteps !== undefined && steps !== null
      ? textsFrom(steps, where(columns.solutionSteps))
      : solution === null
      ? null
      : splitSolution(solution),
    source: (columns.source === undefined
      ? null
      : textFrom(read(columns.source), where(columns.source))) ??
      place.defaultSource,
    judged: labelledFrom(row, columns, place),
  });
}

/** A value of a row, and where it is, for messages. */
interface Cell {
  readonly value: unknown;
  readonly where: string;
}

function questionFrom({ value, where }: Cell): string | null {
  return isConversation(value) ? lastTurn(value, where).question : textFrom(value, where);
}

function responseFrom(cell: Cell | null): string | null {
  if (cell === null) return null;
  const { value, where } = cell;
  return isConversation(value) ? replyIn(value, where) : textFrom(value, where);
}

/** What a response that is a conversation answers; null for any other. */
function askedIn(cell: Cell | null): string | null {
  return cell !== null && isConversation(cell.value) ? questionIn(cell.value, cell.where) : null;
}

function labelledFrom(row: Row, columns: ColumnMapping, place: Place): LabelledSolution | null {
  const { judgedSteps, firstError } = columns;
  if (judgedSteps === undefined && firstError === undefined) return null;
  if (judgedSteps === undefined || firstError === undefined) {
    throw new UserError(
      `${place.file}: columns: found ${
        judgedSteps === undefined ? "firstError" : "judgedSteps"
      } alone, ` +
        "expected judgedSteps and firstError together.",
    );
  }
  return labelledSolution(
    { column: judgedSteps, value: columnValue(row, judgedSteps, place) },
    { column: firstError, value: columnValue(row, firstError, place) },
    placeText(place),
  );
}

/** What a column holds in a row. */
interface ColumnCell {
  readonly column: string;
  readonly value: unknown;
}

/** A solution to be judged. Throws a UserError that begins with `where` and the column when the place is not in it. */
export function labelledSolution(
  steps: ColumnCell,
  firstError: ColumnCell,
  where: string,
): LabelledSolution {
  const at = ({ column }: ColumnCell) => `${where}, column "${column}"`;
  const texts = textsFrom(steps.value, at(steps));
  const place = integerFrom(firstError.value, at(firstError));
  if (place >= -1 && place < texts.length) return { steps: texts, firstError: place };
  throw new UserError(
    `${
      at(firstError)
    }: found ${place} as the first wrong of ${texts.length} steps, expected -1 (all are right) ` +
      `to ${texts.length - 1}.`,
  );
}
