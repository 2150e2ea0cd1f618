import { z } from "zod";
import { Digest } from "../../platform/files/digest.ts";
import { CHAIN_BEGIN } from "../record/hash_chain.ts";
import { type RunDevice, runDeviceSchema } from "../store/run_device.ts";
import { saveCheckpoint } from "../store/checkpoint.ts";
import type { SkippedInARow } from "../health/policy_health.ts";
import type { Best } from "../store/best.ts";
import { writtenByFirst } from "../store/shared_files.ts";
import { countSchema, StoredCheckpoint } from "../store/stored_checkpoint.ts";
import {
  type OptimizerSteps,
  optimizerStepsOf,
  restoreTrained,
  trainedSets,
} from "../store/trained_models.ts";
import type { Course, LoopConfig } from "./course.ts";

/** State of the loop in a checkpoint, whatever the method. Random numbers need no state: their keys do. */
export interface LoopState {
  /** The best evaluation so far; null before the first. */
  readonly best: Best | null;
  /** Updates skipped in a row. */
  readonly skippedInARow: SkippedInARow;
  /** Device that the run computes on; null where a checkpoint of an earlier version does not say. */
  readonly device: RunDevice | null;
  /** End of the chain of records; empty where a checkpoint of an earlier version has none. */
  readonly chain: string;
}

/** The digest of what a step goes by besides weights and moments. */
export function digestOfState(
  own: ReturnType<Course<LoopConfig>["state"]>,
  optimizerSteps: OptimizerSteps,
): string {
  return new Digest().value([own, Object.entries(optimizerSteps)]).hex();
}

/**
 * The same of a checkpoint.
 *
 * @throws UserError when it has no such state
 */
export function digestOfStoredState(checkpoint: StoredCheckpoint): string {
  const { best: _b, skippedInARow: _s, device: _d, chain: _c, optimizerSteps, ...own } = checkpoint
    .state(z.looseObject({ optimizerSteps: z.record(z.string(), countSchema) }));
  return new Digest().value([own, Object.entries(optimizerSteps)]).hex();
}

/** Fields of a course that go into a checkpoint and come from it. */
export type StoredCourse = Pick<
  Course<LoopConfig>,
  "ranks" | "step" | "models" | "modelKey" | "adopt"
>;

/** The method's own state and the loop's. */
export interface CourseState {
  readonly own: ReturnType<Course<LoopConfig>["state"]>;
  readonly kept: LoopState;
}

const storedStateSchema = z.object({
  best: z.object({ step: countSchema, value: z.number() }).nullable(),
  optimizerSteps: z.record(z.string(), countSchema),
  // Absent in checkpoints of earlier versions, which were written only where nothing was skipped.
  skippedInARow: z.object({
    generator: countSchema.optional(),
    verifier: countSchema.optional(),
  }).default({}),
  device: runDeviceSchema.nullable().default(null),
  chain: z.string().default(CHAIN_BEGIN),
});

/**
 * Writes a checkpoint, weights and moments of what is trained and the state, and removes those it supersedes. All
 * ranks call it.
 *
 * @param keep how many checkpoints stay
 * @param record adds what was written, the SHA-256 of each model's file and of the state, to the chain and gives its end
 * @returns its folder
 */
export async function saveState(
  folder: string,
  course: StoredCourse,
  { own, kept: { best, skippedInARow, device, chain } }: CourseState,
  keep: number,
  record?: (models: Readonly<Record<string, string>>) => string,
): Promise<string> {
  const { models, ranks, step } = course;
  const optimizerSteps = await optimizerStepsOf(models);
  const sets = await trainedSets(models);
  const state = (models: Readonly<Record<string, string>>) => {
    const stored: z.output<typeof storedStateSchema> = {
      best: best && { ...best },
      optimizerSteps,
      skippedInARow: { ...skippedInARow },
      device,
      chain: record?.({ ...models, state: digestOfState(own, optimizerSteps) }) ?? chain,
    };
    return { ...own, ...stored };
  };
  const write = () => saveCheckpoint(folder, { step, sets, state }, keep);
  return await writtenByFirst(ranks, [sets], write);
}

/**
 * Puts a course back to where a checkpoint was taken. When it fails, it may not be used any more.
 *
 * @throws UserError when it is damaged or was made with other models than the configuration names
 */
export async function restoreState(path: string, course: StoredCourse): Promise<LoopState> {
  const checkpoint = new StoredCheckpoint(path);
  const { optimizerSteps, ...kept } = checkpoint.state(storedStateSchema);
  course.adopt(checkpoint);
  await restoreTrained(checkpoint, optimizerSteps, course.models, (name) => course.modelKey(name));
  return kept;
}
