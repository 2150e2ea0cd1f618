import { isExactlyBoxed, lastBoxed } from "../../grading/text/boxed.ts";
import { findSteps, lastBlock, type StepBlock, withoutSteps } from "./step_blocks.ts";

/** Contents of a generator's response, whatever its shape. */
export interface ParsedSolution {
  /** The closed steps inside `<think>`, in order. */
  steps: StepBlock[];
  /** Content of the last `\boxed{…}` of the last `<answer>` block, or null. */
  answer: string | null;
  hasAnswerBlock: boolean;
  /** The answer block holds one non-empty `\boxed{…}` and nothing else. */
  answerIsBoxed: boolean;
  /** The whole response is the format and nothing else; white space between tags is allowed. */
  wellFormed: boolean;
}

const TAG = /<\/?(?:think|step|answer)>/;
const SKELETON = /^\s*<think>\s*<\/think>\s*<answer>([^]*)<\/answer>\s*$/;

/** Bounds of the reasoning: from the first `<think>` to its end, or to the answer if it is never closed. */
function thinkBounds(response: string): [number, number] | null {
  const opening = response.indexOf("<think>");
  if (opening < 0) return null;
  const start = opening + "<think>".length;
  for (const end of ["</think>", "<answer>"]) {
    const offset = response.indexOf(end, start);
    if (offset >= 0) return [start, offset];
  }
  return [start, response.length];
}

/**
 * Read a generator response of the form `<think>` with one `<step>…</step>` per step, then
 * `<answer>\boxed{…}</answer>`. Never throws: what is missing or broken is reported as such. Steps
 * outside `<think>` do not count.
 */
export function parseSolution(response: string): ParsedSolution {
  const think = thinkBounds(response);
  const steps = think ? findSteps(response, think[0], think[1]) : [];
  const answerBlock = lastBlock(response, "answer");
  const answerText = answerBlock ? response.slice(answerBlock[0], answerBlock[1]) : "";
  const answerIsBoxed = isExactlyBoxed(answerText);
  const skeleton = SKELETON.exec(withoutSteps(response, steps, 0, response.length));
  return {
    steps,
    answer: lastBoxed(answerText)?.content ?? null,
    hasAnswerBlock: answerBlock !== null,
    answerIsBoxed,
    wellFormed: skeleton !== null && !TAG.test(skeleton[1]) && answerIsBoxed &&
      steps.length > 0 && !steps.some((step) => TAG.test(step.text)),
  };
}
