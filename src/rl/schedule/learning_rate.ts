/** Courses of a learning rate after its warm-up. */
export const learningRateCourses = ["constant", "linear", "cosine", "exponential"] as const;

/** How the learning rate of one policy runs over its own updates. */
export interface LearningRateSchedule {
  /** The peak, after the warm-up. */
  readonly learningRate: number;
  /** Steps over which the rate rises linearly to the peak. */
  readonly warmupSteps: number;
  /** Warm-up as a share of all steps; the longer of the two holds. */
  readonly warmupShare: number;
  readonly schedule: typeof learningRateCourses[number];
  /** Share of the peak that a falling rate comes down to. */
  readonly finalShare: number;
  /** The policy's steps in the whole run, after which a falling rate is down. */
  readonly totalSteps: number;
}

/** Exponent that the exponential course comes to in the end, as the Tango reference has it: 0.7 % are left then. */
const EXPONENT = 5;

/** The rate of the policy's step `step`, counted from 0. */
export function learningRateAt(
  { learningRate, warmupSteps, warmupShare, schedule, finalShare, totalSteps }:
    LearningRateSchedule,
  step: number,
): number {
  const warmup = Math.max(warmupSteps, Math.floor(warmupShare * totalSteps));
  if (step < warmup) return learningRate * (step + 1) / warmup;
  if (schedule === "constant") return learningRate;
  const progress = Math.min(1, (step - warmup) / Math.max(1, totalSteps - warmup));
  return learningRate * (finalShare + (1 - finalShare) * leftAt(schedule, progress));
}

/** What is left of the way from the peak down, from 1 to 0. */
function leftAt(
  schedule: Exclude<LearningRateSchedule["schedule"], "constant">,
  progress: number,
): number {
  switch (schedule) {
    case "linear":
      return 1 - progress;
    case "cosine":
      return 0.5 * (1 + Math.cos(Math.PI * progress));
    case "exponential":
      return progress === 1 ? 0 : Math.exp(-EXPONENT * progress);
  }
}
