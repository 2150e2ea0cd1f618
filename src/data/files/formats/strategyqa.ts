import { UserError } from "../../../base/user_error.ts";
import { type Format, makeRecord } from "../record.ts";
import { describeValue, placeText } from "../row.ts";
import { textOf } from "../row_values.ts";

const ANSWERS: Record<string, string> = { true: "yes", yes: "yes", false: "no", no: "no" };

/** StrategyQA, yes-or-no questions whose steps are left unsaid (Geva et al. 2021, arXiv:2101.02235). */
export const strategyqa: Format = {
  name: "strategyqa",
  description: "StrategyQA: yes-or-no questions that need unsaid steps",
  columns: ["question", "answer"],

  toRecord(row, place) {
    const question = textOf(row, ["question"], place);
    if (question === null) return { leftOut: "no question" };
    const written = textOf(row, ["answer"], place)?.trim().toLowerCase() ?? null;
    const answer = written === null ? null : ANSWERS[written];
    if (answer === undefined) {
      throw new UserError(
        `${placeText(place)}, column "answer": found ${
          describeValue(row.answer)
        }, expected true or false.`,
      );
    }
    return makeRecord({
      question: `${question.trim()} Answer yes or no.`,
      answer,
      comparison: "text",
      source: "strategyqa",
    });
  },
};
