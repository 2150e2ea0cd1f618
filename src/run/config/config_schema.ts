/** The configuration of a Tango run. */

import type { z } from "zod";
import { checkTogether } from "./check_together.ts";
import { dataSchema } from "./data_schema.ts";
import { placementSchema } from "./placement.ts";
import { section, wholeNumber } from "./schema_fields.ts";
import {
  cacheDtypeSchema,
  distributedSchema,
  frozenDtypeSchema,
  gpuSchema,
  memoryLimitSchema,
  precisionSchema,
  reductionSchema,
  referenceMemorySchema,
  reportSchema,
  runDirectorySchema,
  seedSchema,
  taskSchema,
  trainedDtypeSchema,
  tuningSchema,
} from "./shared_schema.ts";
import {
  advantageSchema,
  classReweightingSchema,
  evaluationSchema,
  generatorSchema,
  lossSchema,
  rewardsSchema,
  rolloutSchema,
  scheduleSchema,
  verifierSchema,
} from "./tango_sections.ts";

/** Schema of a Tango run's configuration file. */
export const tangoConfigSchema = section({
  seed: seedSchema,
  gpu: gpuSchema,
  precision: precisionSchema,
  tuning: tuningSchema,
  frozen_dtype: frozenDtypeSchema,
  trained_dtype: trainedDtypeSchema,
  reference_memory: referenceMemorySchema,
  cache_dtype: cacheDtypeSchema,
  memory_limit_gb: memoryLimitSchema,
  run_directory: runDirectorySchema,
  task: taskSchema.prefault({}),
  data: dataSchema.describe(
    "Files with problems instead of the embedded task.",
  ),
  generator: generatorSchema,
  verifier: verifierSchema.nullable().describe(
    "null trains the generator alone (GRPO and its relatives).",
  ),
  placement: placementSchema.describe(
    "Which ranks hold which policy, where several processes share a run; null: each holds both.",
  ),
  rollout: rolloutSchema.prefault({}),
  loss: lossSchema.prefault({}),
  reduction: reductionSchema.prefault({}),
  distributed: distributedSchema.prefault({}),
  advantage: advantageSchema.prefault({}),
  rewards: rewardsSchema.prefault({}),
  class_reweighting: classReweightingSchema.prefault({}),
  schedule: scheduleSchema.prefault({}),
  evaluation: evaluationSchema.prefault({}),
  samples_per_step: wholeNumber({ minimum: 0 }).default(8).describe(
    "Solutions of each step whose texts, rewards and advantages go to samples.jsonl.",
  ),
  report: reportSchema.prefault({}),
}).check(checkTogether);

/** A Tango run's configuration with every default filled in. */
export type TangoConfig = z.output<typeof tangoConfigSchema>;

/**
 * The configuration as it will run: a policy that is not trained has no steps, so that one switch
 * (`verifier: null`, `verifier.trained: false` or `generator.trained: false`) is enough for the baselines. Without
 * verifier steps to measure a frozen verifier's judgments in, generator steps do, and judge all solutions.
 */
export function resolveTangoConfig(config: TangoConfig): TangoConfig {
  const { generator, verifier, schedule, advantage } = config;
  const withoutGenerator = { generator_warmup_steps: 0, generator_steps: 0 };
  const withoutVerifier = { verifier_warmup_steps: 0, verifier_steps: 0 };
  if (generator.trained && verifier?.trained) return config;
  return {
    ...config,
    schedule: {
      ...schedule,
      ...(generator.trained ? {} : withoutGenerator),
      ...(verifier?.trained ? {} : withoutVerifier),
    },
    advantage: verifier?.trained === false && advantage.alpha.schedule === "earned"
      ? { ...advantage, judged: "all" }
      : advantage,
  };
}
