/** How a class's weight falls with its count N: 1/N, 1/sqrt(N), or always 1. */
export type ReweightMethod = "inverse" | "sqrt_inverse" | "none";

/** Moving averages of the per-batch class counts; plain data, part of the checkpoint. */
export interface ClassCounts {
  /** Solutions that are truly correct. */
  positive: number;
  /** Solutions that are truly incorrect. */
  negative: number;
}

/**
 * Moving averages after one more batch: decay * old + (1 - decay) * count; the first batch's own counts
 * when there is no state yet.
 * @param labels of the global batch: true for a truly correct solution.
 * @throws Error when decay is not in [0, 1).
 */
export function updateClassCounts(
  counts: ClassCounts | null,
  labels: readonly boolean[],
  decay: number,
): ClassCounts {
  if (!(decay >= 0 && decay < 1)) {
    throw new Error(`class count decay: found ${decay}, expected at least 0 and below 1`);
  }
  const positive = labels.filter((label) => label).length;
  const negative = labels.length - positive;
  if (counts === null) return { positive, negative };
  return {
    positive: decay * counts.positive + (1 - decay) * positive,
    negative: decay * counts.negative + (1 - decay) * negative,
  };
}

/** Over what the mean of the weights is 1: the batch at hand, or samples as the moving averages expect them. */
export type ReweightScale = "batch" | "average";

/** Weights of a batch, and the two class weights for the log. */
export interface ClassCoefficients {
  /** Weight of each sample. */
  perSample: number[];
  positive: number;
  negative: number;
}

/**
 * Weights that even out the two classes (RL Tango, V-step).
 *
 * With the scale `batch`, as published, the batch mean is 1: all samples of a batch of one class weigh 1, however
 * common their class is, and a verifier that cannot tell is drawn to it. With `average` a class weighs the same in
 * every batch in which the moving averages are the same.
 * @param counts as `updateClassCounts` returned for this batch, so that a class with a sample here has
 *   a count above 0. A class never seen has weight 0: no sample carries it.
 */
export function classCoefficients(
  counts: ClassCounts,
  labels: readonly boolean[],
  method: ReweightMethod,
  scale: ReweightScale = "batch",
): ClassCoefficients {
  const positive = unscaledWeight(counts.positive, method);
  const negative = unscaledWeight(counts.negative, method);
  const weights = labels.map((label) => label ? positive : negative);
  const [samples, sum] = scale === "batch"
    ? [labels.length, weights.reduce((total, weight) => total + weight, 0)]
    : [
      counts.positive + counts.negative,
      counts.positive * positive + counts.negative * negative,
    ];
  const factor = sum > 0 ? samples / sum : 1;
  return {
    perSample: weights.map((weight) => weight * factor),
    positive: positive * factor,
    negative: negative * factor,
  };
}

function unscaledWeight(count: number, method: ReweightMethod): number {
  if (method === "none") return 1;
  if (count === 0) return 0;
  return method === "inverse" ? 1 / count : 1 / Math.sqrt(count);
}
