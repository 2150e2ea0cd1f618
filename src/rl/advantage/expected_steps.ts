import { groupIndices } from "../../base/statistics.ts";

/** A solution, as the number of steps that its problem needs is guessed from it. */
export interface CountedSolution {
  readonly group: number | string;
  readonly isCorrect: boolean;
  readonly stepCount: number;
}

/**
 * The number of steps that each solution's problem needs, by what outcomes tell: the median over the group's
 * correct solutions, or over the whole group when none is correct; of two in the middle the larger. The
 * longest would let one padded solution ask for padding from all.
 */
export function expectedSteps(solutions: readonly CountedSolution[]): number[] {
  const expected = new Array<number>(solutions.length).fill(0);
  for (const members of groupIndices(solutions.map(({ group }) => group))) {
    const correct = members.filter((i) => solutions[i].isCorrect);
    const counts = (correct.length > 0 ? correct : members).map((i) => solutions[i].stepCount)
      .sort((a, b) => a - b);
    for (const i of members) expected[i] = counts[counts.length >> 1];
  }
  return expected;
}
