/** How the learning rate of one policy runs over its own updates. */
export interface LearningRateSchedule {
  /** The peak, after the warm-up. */
  readonly learningRate: number;
  /** Steps over which the rate rises linearly to the peak. */
  readonly warmupSteps: number;
  /** Warm-up as a share of all steps; the longer of the two holds. */
  readonly warmupShare: number;
  readonly schedule: "constant" | "cosine";
  /** The policy's steps in the whole run; cosine reaches 0 after them. */
  readonly totalSteps: number;
}

/** The rate of the policy's step `step`, counted from 0. */
export function learningRateAt(
  { learningRate, warmupSteps, warmupShare, schedule, totalSteps }: LearningRateSchedule,
  step: number,
): number {
  const warmup = Math.max(warmupSteps, Math.floor(warmupShare * totalSteps));
  if (step < warmup) return learningRate * (step + 1) / warmup;
  if (schedule === "constant") return learningRate;
  const progress = (step - warmup) / Math.max(1, totalSteps - warmup);
  return learningRate * 0.5 * (1 + Math.cos(Math.PI * Math.min(1, progress)));
}
