import { RandomStream, streams } from "../../random/philox.ts";
import type { CheckpointPlace } from "../store/checkpoint.ts";

/** A part of a run that is done again, from a checkpoint or from the run's beginning. */
export interface Stretch {
  /** Null: the run's beginning. */
  readonly from: CheckpointPlace | null;
  /** Steps to compare, ascending; those before each of them are done again too. */
  readonly steps: readonly number[];
}

/** Which steps are done again. */
export interface StepChoice {
  /** How many. */
  readonly count: number;
  readonly seed: number;
  /** How far behind a checkpoint or the beginning a step may lie. */
  readonly reach: number;
}

/**
 * Random steps of a run, each with the checkpoint that it is done again from. Every step within reach is as likely.
 *
 * @param checkpoints that are left, ascending
 * @param done steps that there are records of, ascending
 */
export function chooseSteps(
  checkpoints: readonly CheckpointPlace[],
  done: readonly number[],
  { count, seed, reach }: StepChoice,
): { readonly stretches: readonly Stretch[]; readonly reachable: readonly number[] } {
  const before = (step: number) => checkpoints.findLast((place) => place.step < step) ?? null;
  const reachable = done.filter((step) => step - (before(step)?.step ?? 0) <= reach);
  const random = new RandomStream(seed, streams.auditedSteps);
  const chosen = reachable.map((step) => ({ step, place: random.uniform() }))
    .sort((a, b) => a.place - b.place)
    .slice(0, count)
    .map(({ step }) => step)
    .sort((a, b) => a - b);
  const stretches = [...Map.groupBy(chosen, (step) => before(step))]
    .map(([from, steps]) => ({ from, steps }));
  return { stretches, reachable };
}
