import { UserError } from "../../../base/user_error.ts";
import { type Format, makeRecord } from "../record.ts";
import { describeValue, placeText } from "../row.ts";
import { optionalTextOf, textOf } from "../row_values.ts";

/** The set's labels, and the words that answers use: those of the RL Tango paper's evaluation. */
const ANSWERS: Readonly<Record<string, string>> = {
  proved: "True",
  disproved: "False",
  unknown: "Uncertain",
};

/**
 * BoardgameQA, deductions from rules that contradict each other and preferences among them (Kazemi et al.
 * 2023, arXiv:2306.07934).
 */
export const bgqa: Format = {
  name: "bgqa",
  description: "BoardgameQA: is a statement true, false or uncertain under contradictory rules",
  columns: ["example", "label", "proof"],

  toRecord(row, place) {
    const example = textOf(row, ["example"], place);
    if (example === null) return { leftOut: "no question" };
    const label = textOf(row, ["label"], place);
    const answer = label === null ? null : ANSWERS[label.trim().toLowerCase()];
    if (answer === undefined) {
      throw new UserError(
        `${placeText(place)}, column "label": found ${describeValue(label)}, expected one of ` +
          `${Object.keys(ANSWERS).join(", ")}.`,
      );
    }
    return makeRecord({
      question:
        `${example.trim()}\n\nAnswer "True" if the statement follows, "False" if its opposite ` +
        'follows, and "Uncertain" if neither does.',
      answer,
      comparison: "text",
      solution: optionalTextOf(row, ["proof"], place),
      source: "bgqa",
    });
  },
};
