import { UserError } from "../../../base/user_error.ts";
import { type Format, makeRecord } from "../record.ts";
import { describeValue, placeText } from "../row.ts";
import { optionalTextOf, textOf } from "../row_values.ts";

const LABELS = ["proved", "disproved", "unknown"];

/**
 * BoardgameQA, deductions from rules that contradict each other and preferences among them (Kazemi et al.
 * 2023, arXiv:2306.07934).
 */
export const bgqa: Format = {
  name: "bgqa",
  description: "BoardgameQA: is a statement proved, disproved or unknown under contradictory rules",
  columns: ["example", "label", "proof"],

  toRecord(row, place) {
    const example = textOf(row, ["example"], place);
    if (example === null) return { leftOut: "no question" };
    const label = textOf(row, ["label"], place);
    const answer = label?.trim().toLowerCase() ?? null;
    if (answer !== null && !LABELS.includes(answer)) {
      throw new UserError(
        `${placeText(place)}, column "label": found ${describeValue(label)}, expected one of ` +
          `${LABELS.join(", ")}.`,
      );
    }
    return makeRecord({
      question:
        `${example.trim()}\n\nAnswer "proved" if the statement follows, "disproved" if its ` +
        'opposite follows, and "unknown" if neither does.',
      answer,
      comparison: "text",
      solution: optionalTextOf(row, ["proof"], place),
      source: "bgqa",
    });
  },
};
