import { cautiousError, mean } from "../../base/statistics.ts";
import type { DataRecord } from "../../data/files/record.ts";
import type { AnswerJudge } from "../../grading/answer_judge.ts";
import { parseSolution } from "../../rl/text/parse_solution.ts";
import type { WrittenAnswer } from "../answers/answers_log.ts";
import { recordSource } from "../problems/file_problems.ts";

/** A share from 0 to 1. */
export interface Share {
  readonly value: number;
  /** Standard error over the problems, see `cautiousError`. */
  readonly error: number;
}

/** What a generator's answers are worth. */
export interface GradedAnswers {
  /** Mean over the problems of the share of a problem's answers that are right: pass@1 of one, mean@n of n. */
  readonly accuracy: Share;
  /** Share of the answers that came to no end. */
  readonly cutOff: number;
}

/** Grades the answers to each problem; a problem without any, which did not fit the model, counts as wrong. */
export async function gradeAnswers(
  judge: AnswerJudge,
  records: readonly DataRecord[],
  answers: readonly (readonly WrittenAnswer[])[],
): Promise<GradedAnswers> {
  const source = recordSource(judge, records);
  const scores: number[] = [];
  // One after the other: those that take the judge's time wait for nobody else's.
  for (const [r, record] of records.entries()) {
    const right: number[] = [];
    for (const { text } of answers[r]) {
      right.push(await source.isCorrect(record, parseSolution(text).answer) ? 1 : 0);
    }
    scores.push(mean(right));
  }
  return {
    accuracy: { value: mean(scores), error: cautiousError(scores) },
    cutOff: mean(answers.flat().map(({ isFinished }) => isFinished ? 0 : 1)),
  };
}
