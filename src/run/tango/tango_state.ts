import { z } from "zod";
import type { ClassCounts } from "../../rl/advantage/class_reweighting.ts";
import type { StepCounts } from "../../rl/advantage/step_classes.ts";
import type { JudgmentQuality } from "../../rl/advantage/judgment_quality.ts";
import { initialPosition, type TangoPosition } from "../../rl/schedule/tango_schedule.ts";
import { madeOf } from "../../distributed/placed.ts";
import type { TrainedModels } from "../store/trained_models.ts";
import { type Policies, trainerOf } from "./policies.ts";
import { countSchema } from "../store/stored_checkpoint.ts";
import { type PooledSolution, pooledSolutionSchema } from "./solution_pool.ts";

/** Where a Tango run stands, besides its weights and moments. */
export interface TangoState {
  readonly position: TangoPosition;
  /** Moving averages of the verifier's class counts; null before its first step. */
  readonly classCounts: ClassCounts | null;
  /** Moving averages of how step judgments agree with outcomes; null before the first. */
  readonly judgmentQuality: JudgmentQuality | null;
  /** Those of right and wrong beginnings of solutions; null before the first step that pays step judgments. */
  readonly stepCounts: StepCounts | null;
  /** Solutions of the generator steps since the last verifier step; empty where none are kept. */
  readonly pool: readonly PooledSolution[];
  /** Records of the files that were gone through. */
  readonly problemPosition: number;
}

/** What verifier steps go by and leave behind, besides weights and moments. */
export type JudgingState = Pick<
  TangoState,
  "classCounts" | "judgmentQuality" | "stepCounts" | "pool"
>;

/** The state before the first step. */
export function initialState(): TangoState {
  return {
    position: initialPosition(),
    classCounts: null,
    judgmentQuality: null,
    stepCounts: null,
    pool: [],
    problemPosition: 0,
  };
}

const classCountsSchema = z.object({ positive: z.number(), negative: z.number() });

/** A state as checkpoints keep it. */
export const tangoStateSchema = z.object({
  position: z.object({
    globalSteps: countSchema,
    generatorSteps: countSchema,
    verifierSteps: countSchema,
    cycleSteps: countSchema,
  }),
  classCounts: classCountsSchema.nullable(),
  // Absent in checkpoints of earlier versions, which did not measure it, paid no step judgments and kept no solutions.
  judgmentQuality: z.object({
    right: z.number(),
    rightPassed: z.number(),
    wrong: z.number(),
    wrongFlagged: z.number(),
  }).nullable().default(null),
  stepCounts: z.array(classCountsSchema).nullable().default(null),
  pool: z.array(pooledSolutionSchema).default([]),
  problemPosition: countSchema,
});

/** Models in training of two policies, by their names in a checkpoint. */
export function trainedModels({ generator, verifier }: Policies): TrainedModels {
  const models: Record<string, TrainedModels[string]> = {};
  for (const [name, policy] of [["generator", generator], ["verifier", verifier]] as const) {
    if (policy?.isTrained) models[name] = madeOf(policy.engine, trainerOf);
  }
  return models;
}

/** The configuration keys that say what weights a policy has. */
export function modelKey(name: string): string {
  return `${name}.model, ${name}.lora or trained_dtype`;
}
