/** Which words of a solution are which step, and what the verifier said of each. */

import type { CritiqueSample } from "../../../run/store/samples_log.ts";

export interface TextPart {
  readonly text: string;
  /** Which step it is, from 0; null between steps. */
  readonly step: number | null;
}

/**
 * Cuts a solution into its steps and what lies around them; the parts put together are the solution again.
 *
 * @param steps the texts of its parsed steps, in order
 */
export function stepParts(solution: string, steps: readonly string[]): TextPart[] {
  const parts: TextPart[] = [];
  let offset = 0;
  for (const [step, text] of steps.entries()) {
    // With its tags a short step ("x") is not mistaken for a letter of what stands before it.
    const tagged = solution.indexOf(`<step>${text}</step>`, offset);
    if (tagged < 0) continue;
    const begin = tagged + "<step>".length;
    if (begin > offset) parts.push({ text: solution.slice(offset, begin), step: null });
    parts.push({ text, step });
    offset = begin + text.length;
  }
  if (offset < solution.length) parts.push({ text: solution.slice(offset), step: null });
  return parts;
}

/**
 * The verifier's judgment of each step. It counts only where there are as many judgments as steps: otherwise
 * nobody knows which judgment belongs to which step, and the run gives no step rewards either.
 *
 * @returns by step; null where there is none
 */
export function stepJudgments(
  stepCount: number,
  critique: CritiqueSample | undefined,
): (boolean | null)[] {
  const judgments = critique?.stepJudgments ?? [];
  const isAligned = judgments.length === stepCount;
  return Array.from({ length: stepCount }, (_, step) => isAligned ? judgments[step] : null);
}

/** What a critique says of each step, in order: the text of its well-formed steps. */
export function critiqueSteps(critique: string): string[] {
  const end = critique.indexOf("<final_verification>");
  const block = end < 0 ? critique : critique.slice(0, end);
  return [...block.matchAll(/<step>((?:(?!<step>)[^])*?)<\/step>/g)].flatMap(([, text]) =>
    /\\boxed\{(?:CORRECT|INCORRECT)\}\.?\s*$/i.test(text) ? [text.trim()] : []
  );
}

/** Whether any critique's verdict is not the truth; one that cannot be read does not agree with anything. */
export function disagrees(
  { correct, critiques }: { correct: boolean; critiques: readonly CritiqueSample[] },
) {
  return critiques.some(({ verdict }) => verdict !== correct);
}
