import { type Format, makeRecord } from "../record.ts";
import { textOf } from "../row_values.ts";

/**
 * GSM8K, grade-school word problems (Cobbe et al. 2021, arXiv:2110.14168). The answer column holds one step
 * per line, with the calculations that a tool did between << and >>, and the result after ####.
 */
export const gsm8k: Format = {
  name: "gsm8k",
  description: "GSM8K: grade-school word problems with worked solutions",
  columns: ["question", "answer"],

  toRecord(row, place) {
    const question = textOf(row, ["question"], place);
    if (question === null) return { leftOut: "no question" };
    const [work, result] = (textOf(row, ["answer"], place) ?? "").split(/^####/m);
    const lines = work.replace(/<<[^>]*>>/g, "").split("\n").map((line) => line.trim());
    const solutionSteps = lines.filter((line) => line !== "");
    const isWorked = solutionSteps.length > 0;
    return makeRecord({
      question,
      answer: result?.trim().replace(/(?<=\d),(?=\d{3})/g, "") || null,
      solutionSteps: isWorked ? solutionSteps : null,
      solution: isWorked ? solutionSteps.join("\n") : null,
      source: "gsm8k",
    });
  },
};
