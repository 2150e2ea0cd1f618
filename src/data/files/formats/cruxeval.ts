import { type Format, makeRecord } from "../record.ts";
import { textOf } from "../row_values.ts";

/**
 * CRUXEval, output prediction: what a short Python function returns (Gu et al. 2024, arXiv:2401.03065).
 * Answers are Python literals, compared by their values.
 */
export const cruxeval: Format = {
  name: "cruxeval",
  description: "CRUXEval: predict what a Python function returns",
  columns: ["code", "input", "output"],

  toRecord(row, place) {
    const code = textOf(row, ["code"], place);
    if (code === null) return { leftOut: "no question" };
    // A function without arguments has an empty input.
    const input = textOf(row, ["input"], place) ?? "";
    return makeRecord({
      question: `Here is a Python function:\n\n\`\`\`python\n${code.trimEnd()}\n\`\`\`\n\n` +
        `What does \`f(${input.trim()})\` return? Answer with a Python literal.`,
      answer: textOf(row, ["output"], place)?.trim() ?? null,
      comparison: "literal",
      source: "cruxeval",
    });
  },
};
