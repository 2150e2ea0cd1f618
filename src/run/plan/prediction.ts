import { camelCased } from "../../base/camel_cased.ts";
import { UserError } from "../../base/user_error.ts";
import { inShards } from "../config/placement.ts";
import {
  initialPosition,
  nextStep,
  positionAfter,
  type TangoStep,
} from "../../rl/schedule/tango_schedule.ts";
import type { GpuDescription } from "./gpu_description.ts";
import type { PlannedPlacement, PlannedRun } from "./planned_run.ts";
import {
  checkpointBytes,
  evaluationSeconds,
  generatorStepCost,
  type PlannedRanks,
  type SharedSamplingCost,
  type StepCost,
  verifierStepCost,
} from "./step_cost.ts";
import { colocatedTimeline, splitTimeline, type TimedStep } from "./timeline.ts";

/** A kind of step, in seconds; each phase as long as its slowest rank takes. */
export interface PredictedStep {
  readonly seconds: number;
  readonly rollout: number;
  /** Seconds of all sampling in which fewer than half of the slots are in use. */
  readonly tail: number;
  readonly verification: number;
  /** Going on from the ends of solutions' steps; 0 where nothing does. */
  readonly continuation: number;
  readonly gradient: number;
  readonly optimizer: number;
  readonly reduction: number;
}

/** The predicted cost of a run on some GPUs. */
export interface Prediction {
  readonly placement: PlannedPlacement;
  /** Null where the schedule has none. */
  readonly generatorStep: PredictedStep | null;
  readonly verifierStep: PredictedStep | null;
  readonly evaluationSeconds: number;
  readonly checkpointSeconds: number;
  /** A training step, the mean over the whole schedule. */
  readonly meanStepSeconds: number;
  /** Seconds of all steps, evaluations and checkpoints. */
  readonly totalSeconds: number;
  /** Share of the training steps' time in which a rank waits for another one; the mean over ranks. */
  readonly idleShare: number;
  /** Share of the training steps' time that goes into exchanging. */
  readonly exchangeShare: number;
  /** Bytes that a rank sends in a training step; the mean over ranks and steps. */
  readonly bytesPerStep: number;
}

/**
 * Predicts what a run takes.
 *
 * @throws UserError when the ranks and the configuration do not fit together
 */
export function predict(
  gpu: GpuDescription,
  planned: PlannedRun,
  placement: PlannedPlacement,
): Prediction {
  const ranks = ranksOf(placement);
  const run = { ...planned, config: inShards(planned.config, trainingRanks(planned, placement)) };
  requireFit(run, placement);
  const steps = stepsOf(run);
  const costs = new Map<string, StepCost>();
  const costOf = ({ phase, stage }: TangoStep): StepCost => {
    const key = phase === "verifier" ? phase : stage;
    let cost = costs.get(key);
    if (!cost) {
      cost = phase === "verifier"
        ? verifierStepCost(gpu, run, ranks)
        : generatorStepCost(gpu, run, stage === "generatorWarmup", ranks);
      costs.set(key, cost);
    }
    return cost;
  };
  const timed = steps.map((step): TimedStep => ({ phase: step.phase, cost: costOf(step) }));
  const timelineOf = (some: readonly TimedStep[]) =>
    placement.kind === "colocated"
      ? colocatedTimeline(some, placement.ranks)
      : splitTimeline(some, placement);
  const timeline = timelineOf(timed);
  const predicted = (key: string, phase: TimedStep["phase"]): PredictedStep | null => {
    const cost = costs.get(key);
    return cost ? partsOf(cost, timelineOf([{ phase, cost }]).seconds) : null;
  };
  const evaluation = evaluationSeconds(gpu, run, ranks);
  const checkpoint = checkpointBytes(run) / gpu.diskRate;
  const evaluations = steps.filter(({ evaluateBefore }) => evaluateBefore).length +
    steps.filter(({ evaluateAfter }) => evaluateAfter).length;
  const checkpoints = steps.filter(({ saveAfter }) => saveAfter).length;
  const idle = timeline.idleSeconds.reduce((sum, seconds) => sum + seconds, 0);
  return {
    placement,
    generatorStep: predicted("cycle", "generator") ?? predicted("generatorWarmup", "generator"),
    verifierStep: predicted("verifier", "verifier"),
    evaluationSeconds: evaluation,
    checkpointSeconds: checkpoint,
    meanStepSeconds: timeline.seconds / steps.length,
    totalSeconds: timeline.seconds + evaluations * evaluation + checkpoints * checkpoint,
    idleShare: idle / ranks.all / timeline.seconds,
    exchangeShare: timeline.exchangeSeconds / timeline.seconds,
    bytesPerStep: timeline.bytesSent / steps.length,
  };
}

/** How many ranks hold each policy. */
export function ranksOf(placement: PlannedPlacement): PlannedRanks {
  if (placement.kind === "colocated") {
    return { generator: placement.ranks, verifier: placement.ranks, all: placement.ranks };
  }
  const { generator, verifier } = placement;
  return { generator, verifier, all: generator + verifier };
}

/** The most ranks that train one of the models together. */
export function trainingRanks(
  { config }: Pick<PlannedRun, "config">,
  placement: PlannedPlacement,
): number {
  const { generator, verifier } = ranksOf(placement);
  return Math.max(
    config.generator.trained ? generator : 0,
    config.verifier?.trained ? verifier : 0,
  );
}

function requireFit({ config, verifier }: PlannedRun, placement: PlannedPlacement): void {
  const training = trainingRanks({ config }, placement);
  if (training > config.reduction.shards) {
    throw new UserError(
      `reduction.shards is ${config.reduction.shards} and ${training} ranks train together: each needs a ` +
        `shard of the batch. Plan with --set reduction.shards=${training}.`,
    );
  }
  if (placement.kind === "split" && verifier === null) {
    throw new UserError("There is no verifier, so that no ranks can hold it.");
  }
}

function stepsOf({ config }: PlannedRun): TangoStep[] {
  const schedule = camelCased(config.schedule);
  const steps: TangoStep[] = [];
  let position = initialPosition();
  for (let step = nextStep(schedule, position); step; step = nextStep(schedule, position)) {
    steps.push(step);
    position = positionAfter(schedule, position, step);
  }
  return steps;
}

function partsOf(cost: StepCost, seconds: number): PredictedStep {
  const longest = (sampling: SharedSamplingCost | null) =>
    sampling ? Math.max(...sampling.seconds) : 0;
  const tail = (sampling: SharedSamplingCost | null) =>
    sampling ? Math.max(...sampling.tailSeconds) : 0;
  const { rollout, verification, continuation } = cost;
  return {
    seconds,
    rollout: longest(rollout),
    verification: longest(verification),
    continuation: longest(continuation),
    tail: tail(rollout) + tail(verification) + tail(continuation),
    gradient: Math.max(...cost.gradientSeconds),
    optimizer: cost.optimizerSeconds,
    reduction: cost.reduction.seconds,
  };
}
