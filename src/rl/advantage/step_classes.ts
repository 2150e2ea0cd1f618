import {
  classCoefficients,
  type ClassCounts,
  type ReweightMethod,
  type ReweightScale,
  updateClassCounts,
} from "./class_reweighting.ts";

/**
 * Moving averages of right and wrong steps at each place of a solution, the first steps' first. Early steps are mostly
 * right and late ones mostly wrong: weighed together, a verifier would do well that looks at the place alone.
 */
export type StepCounts = readonly ClassCounts[];

/** No judgment counts more than so many of the mean: a class that is rare at its place would rule the batch. */
const HEAVIEST = 4;

/**
 * Moving averages after one more batch; those of places that no solution in it has stay.
 *
 * @param labels of each solution, of each of its steps
 */
export function updateStepCounts(
  counts: StepCounts | null,
  labels: readonly (readonly boolean[])[],
  decay: number,
): ClassCounts[] {
  const places = Math.max(counts?.length ?? 0, ...labels.map(({ length }) => length));
  return Array.from({ length: places }, (_, place) => {
    const before = counts?.[place] ?? null;
    const here = labelsAt(labels, place);
    return before !== null && here.length === 0 ? before : updateClassCounts(before, here, decay);
  });
}

/**
 * Weights of step judgments that even out the two classes at each place; of each solution's or critique's steps.
 *
 * @param counts as `updateStepCounts` returned for these labels
 */
export function stepCoefficients(
  counts: StepCounts,
  labels: readonly (readonly boolean[])[],
  method: ReweightMethod,
  scale: ReweightScale,
): number[][] {
  const weights = counts.map((ofPlace, place) =>
    classCoefficients(ofPlace, labelsAt(labels, place), method, scale)
  );
  return labels.map((row) =>
    row.map((isRight, place) => {
      const { positive, negative } = weights[place];
      return Math.min(HEAVIEST, isRight ? positive : negative);
    })
  );
}

function labelsAt(labels: readonly (readonly boolean[])[], place: number): boolean[] {
  return labels.flatMap((row) => place < row.length ? [row[place]] : []);
}
