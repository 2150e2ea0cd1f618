import { lastBoxAnswer } from "../boxed_answer.ts";
import { type DataRecord, type Format, type LeftOut, makeRecord } from "../record.ts";
import { type Place, placeText, type Row } from "../row.ts";
import { answerFrom, findColumn, optionalTextOf, textOf } from "../row_values.ts";
import { splitSolution } from "../solution_steps.ts";

/**
 * MATH, competition problems (Hendrycks et al. 2021, arXiv:2103.03874), as one JSON file per problem in a
 * folder per subject or as one file. The answer is what the solution boxes last.
 */
export const math: Format = {
  name: "math",
  description: "MATH: competition mathematics with worked solutions, by subject",
  columns: ["problem", "level", "type", "solution"],
  toRecord(row, place) {
    const source = optionalTextOf(row, ["type"], place) ?? place.defaultSource;
    return worked(row, place, source, (solution) => solution && lastBoxAnswer(solution));
  },
};

/** MATH-500 (Lightman et al. 2023, arXiv:2305.20050): problems of MATH with the answer in a column. */
export const math500: Format = {
  name: "math500",
  description: "MATH-500: 500 problems of MATH, by subject",
  columns: ["problem", "solution", "answer", "subject"],
  toRecord(row, place) {
    const source = optionalTextOf(row, ["subject"], place) ?? place.defaultSource;
    const where = `${placeText(place)}, column "answer"`;
    const answer = answerFrom(row[findColumn(row, ["answer"], place)], where);
    return worked(row, place, source, () => answer);
  },
};

function worked(
  row: Row,
  place: Place,
  source: string,
  answerOf: (solution: string | null) => string | null,
): DataRecord | LeftOut {
  const question = textOf(row, ["problem"], place);
  if (question === null) return { leftOut: "no question" };
  const solution = textOf(row, ["solution"], place);
  return makeRecord({
    question,
    answer: answerOf(solution),
    solution,
    solutionSteps: solution === null ? null : splitSolution(solution),
    source,
  });
}
