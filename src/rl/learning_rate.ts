/** How the learning rate of one policy runs over its own updates. */
export interface LearningRateSchedule {
  readonly peak: number;
  /** Steps over which the rate rises linearly to the peak. */
  readonly warmupSteps: number;
  readonly schedule: "constant" | "cosine";
  /** The policy's steps in the whole run; cosine reaches 0 after them. */
  readonly totalSteps: number;
}

/** The rate of the policy's step `step`, counted from 0. */
export function learningRateAt(
  { peak, warmupSteps, schedule, totalSteps }: LearningRateSchedule,
  step: number,
): number {
  if (step < warmupSteps) return peak * (step + 1) / warmupSteps;
  if (schedule === "constant") return peak;
  const progress = (step - warmupSteps) / Math.max(1, totalSteps - warmupSteps);
  return peak * 0.5 * (1 + Math.cos(Math.PI * Math.min(1, progress)));
}
