import { type Format, makeRecord } from "../record.ts";
import { placeText } from "../row.ts";
import { answerFrom, findColumn, optionalTextOf, textOf } from "../row_values.ts";
import { splitSolution } from "../solution_steps.ts";

const ANSWER = ["final_answer", "answer"];
const IMAGES = Array.from({ length: 9 }, (_, index) => `image_${index + 1}`);

/**
 * OlympiadBench, olympiad problems in mathematics and physics (He et al. 2024, arXiv:2402.14008). Problems
 * with images and proofs are left out. A copy that is the open-ended English mathematics alone
 * (knoveleng/OlympiadBench) calls the answer `answer` and has no other columns. Several answers are joined by commas; the tolerance that some
 * problems of physics allow (`error`) is not used.
 */
export const olympiadbench: Format = {
  name: "olympiadbench",
  description:
    "OlympiadBench: olympiad mathematics and physics, open-ended problems without images",
  columns: [
    "question",
    "context",
    ...ANSWER,
    "solution",
    "unit",
    "modality",
    "question_type",
    "answer_type",
    ...IMAGES,
  ],

  toRecord(row, place) {
    const optional = (column: string) => optionalTextOf(row, [column], place);
    const task = textOf(row, ["question"], place);
    if (task === null) return { leftOut: "no question" };
    const hasImage = optional("modality")?.toLowerCase() === "multimodal" ||
      task.includes("<image_") ||
      IMAGES.some((name) => row[name] !== undefined && row[name] !== null);
    if (hasImage) return { leftOut: "problem with an image" };
    const isProof = /proof|proving/i.test(
      `${optional("question_type")} ${optional("answer_type")}`,
    );
    if (isProof) return { leftOut: "proof problem" };
    const where = placeText(place);
    const column = findColumn(row, ANSWER, place);
    const written = row[column];
    const unit = optional("unit");
    const solution = solutionText(row.solution, `${where}, column "solution"`);
    return makeRecord({
      question: [
        optional("context"),
        task,
        unit && `Give the answer in ${unit}, without writing the unit.`,
      ].filter((part) => part !== null).join("\n\n"),
      answer: answerFrom(written, `${where}, column "${column}"`)?.replaceAll("$", "") || null,
      solution,
      solutionSteps: solution === null ? null : splitSolution(solution),
      source: "olympiadbench",
    });
  },
};

/** Solutions are lists of one text per way to solve the problem; the first one is taken. */
function solutionText(value: unknown, where: string): string | null {
  return answerFrom(Array.isArray(value) ? value[0] : value, where);
}
