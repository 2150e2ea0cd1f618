/** Arithmetic mean; 0 for no values. */
export function mean(values: readonly number[]): number {
  if (values.length === 0) return 0;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Sample variance (divided by n - 1, as torch.var does); 0 for fewer than two values. */
export function sampleVariance(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  return values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1);
}

/** Indices of the items of each group, in order of first appearance. */
export function groupIndices(groups: readonly (number | string)[]): number[][] {
  const indices = new Map<number | string, number[]>();
  groups.forEach((group, index) => {
    const members = indices.get(group);
    if (members) members.push(index);
    else indices.set(group, [index]);
  });
  return [...indices.values()];
}

/** value - mean; a single value has no mean to be compared with and stays as it is. */
export function groupCentred(values: readonly number[]): number[] {
  const centre = values.length === 1 ? 0 : mean(values);
  return values.map((value) => value - centre);
}

/**
 * (value - mean) / (std + 1e-6) with the sample std. A single value has neither, and is divided by
 * 1 + 1e-6 only, as veRL does for a group of one.
 */
export function groupNormalised(values: readonly number[]): number[] {
  const single = values.length === 1;
  const centre = single ? 0 : mean(values);
  const scale = (single ? 1 : Math.sqrt(sampleVariance(values))) + 1e-6;
  return values.map((value) => (value - centre) / scale);
}

/** The most that the standard error of the mean of two classes' accuracies can be, of so many of each. */
export function balancedError(ofOne: number, ofTheOther: number): number {
  return Math.sqrt(0.25 / ofOne + 0.25 / ofTheOther) / 2;
}

/**
 * The standard error of the mean of some scores from 0 to 1, after two of each extreme were added to them: of a few
 * scores that happen to be equal it is not 0. (Of scores that are 0 or 1 it is Agresti's and Coull's: 1.96 of it are the
 * half of a 95 % interval. https://doi.org/10.1080/00031305.1998.10480550)
 */
export function cautiousError(scores: readonly number[]): number {
  const all = [...scores, 0, 0, 1, 1];
  const centre = mean(all);
  return Math.sqrt(mean(all.map((score) => (score - centre) ** 2)) / all.length);
}
