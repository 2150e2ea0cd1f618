import type { Sample } from "../../run/store/samples_log.ts";

/** What samples are looked for by. */
export interface SampleTraits {
  /** Characters of the solution. */
  readonly length: number;
  /** Whether a critique's verdict is not the truth. */
  readonly disagrees: boolean;
  /** Whether it came to no final answer. */
  readonly isCut: boolean;
  /** Whether the solution's format was not fully rewarded, or a critique has no verdict. */
  readonly isMalformed: boolean;
}

/** The traits of a sample. */
export function sampleTraits(
  { solution, answer, correct, critiques, rewards }: Sample,
): SampleTraits {
  return {
    length: solution.length,
    disagrees: critiques.some(({ verdict }) => verdict !== null && verdict !== correct),
    isCut: answer === null,
    isMalformed: (rewards?.format ?? 1) < 1 || critiques.some(({ verdict }) => verdict === null),
  };
}
