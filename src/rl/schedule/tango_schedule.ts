/** How a run alternates between the two policies. All counts are training steps. */
export interface TangoScheduleOptions {
  /** Warm-ups included; fewer than those cut the schedule short. */
  readonly totalTrainingSteps: number;
  readonly generatorWarmupSteps: number;
  readonly verifierWarmupSteps: number;
  /** n_G; 0 trains the verifier only. */
  readonly generatorSteps: number;
  /** n_V; 0 leaves the verifier as it is, or trains without one. */
  readonly verifierSteps: number;
  /** Generator steps between evaluations, or verifier steps where there are no others; 0 switches evaluation off. */
  readonly testFrequency: number;
  /** The same between checkpoints; 0 switches saving off. */
  readonly saveFrequency: number;
}

/** Steps done so far; plain data, part of the checkpoint. */
export interface TangoPosition {
  globalSteps: number;
  generatorSteps: number;
  verifierSteps: number;
  /** Steps done of the present cycle. */
  cycleSteps: number;
}

/** One training step to do. Step numbers count from 1, as they appear in logs and checkpoints. */
export interface TangoStep {
  globalStep: number;
  phase: "generator" | "verifier";
  stage: "generatorWarmup" | "verifierWarmup" | "cycle";
  /** Number of the generator step: this one, or in a verifier step the last one done. */
  generatorStep: number;
  /** Number of the verifier step, likewise. */
  verifierStep: number;
  /** t of the alpha schedule: generator steps done since the warm-up; negative during it. */
  alphaStep: number;
  evaluateBefore: boolean;
  evaluateAfter: boolean;
  saveAfter: boolean;
}

const counts = [
  "totalTrainingSteps",
  "generatorWarmupSteps",
  "verifierWarmupSteps",
  "generatorSteps",
  "verifierSteps",
  "testFrequency",
  "saveFrequency",
] as const;

function expectSound(options: TangoScheduleOptions): void {
  for (const name of counts) {
    const value = options[name] ?? 0;
    if (!Number.isInteger(value) || value < 0) {
      throw new Error(`schedule ${name}: found ${value}, expected an integer of at least 0`);
    }
  }
  if (options.totalTrainingSteps > warmupSteps(options) && cycleLength(options) === 0) {
    throw new Error(
      "schedule: generatorSteps and verifierSteps are both 0, so nothing would be trained after the warm-up",
    );
  }
}

/** The position before the first step. */
export function initialPosition(): TangoPosition {
  return { globalSteps: 0, generatorSteps: 0, verifierSteps: 0, cycleSteps: 0 };
}

/** T of the alpha schedule: how many generator steps the run does after the generator's warm-up. */
export function generatorStepsAfterWarmup(options: TangoScheduleOptions): number {
  const { generatorSteps } = options;
  const steps = options.totalTrainingSteps - warmupSteps(options);
  if (steps <= 0) return 0;
  const length = cycleLength(options);
  return Math.floor(steps / length) * generatorSteps +
    Math.min(steps % length, generatorSteps);
}

/** How many generator steps the whole run does, its warm-up included. */
export function countGeneratorSteps(options: TangoScheduleOptions): number {
  return Math.min(options.totalTrainingSteps, options.generatorWarmupSteps) +
    generatorStepsAfterWarmup(options);
}

/**
 * The fewest training steps that hold so many generator steps; null where the schedule never gets there.
 *
 * @param options but for their total
 */
export function stepsToReach(
  options: Omit<TangoScheduleOptions, "totalTrainingSteps">,
  generatorSteps: number,
): number | null {
  const left = generatorSteps - options.generatorWarmupSteps;
  if (left <= 0) return generatorSteps;
  if (options.generatorSteps === 0) return null;
  const cycles = Math.ceil(left / options.generatorSteps) - 1;
  return options.generatorWarmupSteps + options.verifierWarmupSteps + left +
    cycles * options.verifierSteps;
}

/**
 * The step that follows a position, or null when the run is complete: generator warm-up, then verifier
 * warm-up, then cycles of n_G generator and n_V verifier steps.
 *
 * Evaluation is due before the first step and after every `testFrequency`-th generator step, the last
 * warm-up step and the last step; saving after the first step, every `saveFrequency`-th generator step,
 * the last warm-up step and the last step. Where cycles have no generator steps, those of the verifier
 * are counted instead.
 * @throws Error naming the first option that cannot be used.
 */
export function nextStep(options: TangoScheduleOptions, position: TangoPosition): TangoStep | null {
  expectSound(options);
  if (position.globalSteps >= options.totalTrainingSteps) return null;
  const stage = stageAt(options, position.globalSteps);
  const phase = stage === "cycle"
    ? position.cycleSteps < options.generatorSteps ? "generator" : "verifier"
    : stage === "generatorWarmup"
    ? "generator"
    : "verifier";
  const globalStep = position.globalSteps + 1;
  const generatorStep = position.generatorSteps + (phase === "generator" ? 1 : 0);
  const verifierStep = position.verifierSteps + (phase === "verifier" ? 1 : 0);
  const milestone = globalStep === options.totalTrainingSteps ||
    globalStep === warmupSteps(options);
  const isCounted = phase === "generator" || options.generatorSteps === 0;
  const ownStep = phase === "generator" ? generatorStep : verifierStep;
  const isDue = (frequency: number) =>
    frequency > 0 && (milestone || (isCounted && ownStep % frequency === 0));
  return {
    globalStep,
    phase,
    stage,
    generatorStep,
    verifierStep,
    alphaStep: position.generatorSteps - options.generatorWarmupSteps,
    evaluateBefore: options.testFrequency > 0 && globalStep === 1,
    evaluateAfter: isDue(options.testFrequency),
    saveAfter: isDue(options.saveFrequency) || (options.saveFrequency > 0 && globalStep === 1),
  };
}

/** The position after a step that `nextStep` gave for `position`. */
export function positionAfter(
  options: TangoScheduleOptions,
  position: TangoPosition,
  step: TangoStep,
): TangoPosition {
  return {
    globalSteps: step.globalStep,
    generatorSteps: step.generatorStep,
    verifierSteps: step.verifierStep,
    cycleSteps: step.stage === "cycle" ? (position.cycleSteps + 1) % cycleLength(options) : 0,
  };
}

function warmupSteps(options: TangoScheduleOptions): number {
  return options.generatorWarmupSteps + options.verifierWarmupSteps;
}

function cycleLength(options: TangoScheduleOptions): number {
  return options.generatorSteps + options.verifierSteps;
}

function stageAt(options: TangoScheduleOptions, globalSteps: number): TangoStep["stage"] {
  if (globalSteps < options.generatorWarmupSteps) return "generatorWarmup";
  return globalSteps < warmupSteps(options) ? "verifierWarmup" : "cycle";
}
