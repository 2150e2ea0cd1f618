import { UserError } from "../../../base/user_error.ts";
import { type Format, makeRecord } from "../record.ts";
import { describeValue, type Place, placeText, type Row } from "../row.ts";
import { textFrom, textOf, textsFrom } from "../row_values.ts";

const ANSWERS: Record<string, string> = { true: "yes", yes: "yes", false: "no", no: "no" };

/**
 * StrategyQA, yes-or-no questions whose steps are left unsaid (Geva et al. 2021, arXiv:2101.02235). Where the
 * file has the facts that the steps need, the question comes with them.
 */
export const strategyqa: Format = {
  name: "strategyqa",
  description: "StrategyQA: yes-or-no questions that need unsaid steps",
  columns: ["question", "answer", "facts"],

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
      question: [...factsOf(row, place), `${question.trim()} Answer yes or no.`].join("\n\n"),
      answer,
      comparison: "text",
      source: "strategyqa",
    });
  },
};

/** The facts as a paragraph; some copies have them as one text. */
function factsOf(row: Row, place: Place): string[] {
  const { facts } = row;
  if (facts === undefined || facts === null) return [];
  const where = `${placeText(place)}, column "facts"`;
  const texts = Array.isArray(facts) ? textsFrom(facts, where) : [textFrom(facts, where) ?? ""];
  const told = texts.map((text) => text.trim()).filter((text) => text !== "");
  return told.length === 0 ? [] : [`Facts: ${told.join(" ")}`];
}
