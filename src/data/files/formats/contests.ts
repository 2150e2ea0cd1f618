import { lastBoxAnswer } from "../boxed_answer.ts";
import { type DataRecord, type Format, type LeftOut, makeRecord } from "../record.ts";
import { type Place, placeText, type Row } from "../row.ts";
import { answerFrom, optionalTextOf, textOf } from "../row_values.ts";
import { splitSolution } from "../solution_steps.ts";

const QUESTION = ["problem", "Problem", "question", "Question"];
const ANSWER = ["answer", "Answer"];
const SOLUTION = ["solution", "Solution"];

/** AIME problems as any of the published copies spells the columns; answers are numbers from 0 to 999. */
export const aime: Format = {
  name: "aime",
  description: "AIME: contest problems with whole-number answers, any year",
  columns: [...QUESTION, ...ANSWER, ...SOLUTION],
  toRecord: (row, place) => contestRecord(row, place, "aime"),
};

/** AMC problems (AI-MO/aimo-validation-amc, math-ai/amc23). */
export const amc: Format = {
  ...aime,
  name: "amc",
  description: "AMC: contest problems",
  toRecord: (row, place) => contestRecord(row, place, "amc"),
};

function contestRecord(row: Row, place: Place, source: string): DataRecord | LeftOut {
  const question = textOf(row, QUESTION, place);
  if (question === null) return { leftOut: "no question" };
  const written = optionalTextOf(row, SOLUTION, place);
  const boxed = written === null ? null : lastBoxAnswer(written);
  // Some copies have no answer column but a solution that is only the boxed answer.
  const hasAnswer = ANSWER.some((name) => Object.hasOwn(row, name)) || boxed === null;
  const answer = hasAnswer ? answerFrom(textOf(row, ANSWER, place), placeText(place)) : boxed;
  const isWorked = written !== null && !/^\s*\$?\\boxed\{[^{}]*\}\$?\s*$/.test(written);
  return makeRecord({
    question,
    answer: answer === null ? null : plainInteger(answer),
    solution: isWorked ? written : null,
    solutionSteps: isWorked ? splitSolution(written) : null,
    source,
  });
}

/** Answer sheets write 073, tables of numbers 73.0. */
function plainInteger(answer: string): string {
  return /^0*(\d+)(?:\.0*)?$/.exec(answer)?.[1] ?? answer;
}
