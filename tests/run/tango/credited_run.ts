/** Runs whose generator steps are credited in some form, as they logged them. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import type { Sample } from "../../../src/run/store/samples_log.ts";
import { loggedRun } from "../logged_run.ts";
import { tinyPolicies, tinyTask } from "../tiny_policies.ts";

const groupSize = 4;

export interface Logged {
  readonly line: MetricsLine;
  readonly groups: readonly (readonly Sample[])[];
}

/** A run's generator steps. Problems of two steps are too hard for the tiny policies. */
export async function creditedRun(
  gpu: Gpu,
  folder: string,
  advantage: object,
  verifier: string | null,
  {
    longest = 2,
    generator = tinyPolicies.generator,
    shortest = 1,
    judgingTemperature = null,
    critiques = 2,
    groundTruthWeight = 1,
  }: {
    longest?: number;
    generator?: string;
    shortest?: number;
    judgingTemperature?: number | null;
    critiques?: number;
    groundTruthWeight?: number;
  } = {},
): Promise<Logged[]> {
  const optimizer = { learning_rate: 0.003 };
  const config = tangoConfigSchema.parse({
    seed: 2,
    task: { ...tinyTask, minimum_steps: shortest, maximum_steps: longest },
    generator: { model: generator, max_response_length: 48, optimizer },
    verifier: verifier && { model: verifier, max_response_length: 64, optimizer },
    rewards: { prefix_continuations: 3, ground_truth_weight: groundTruthWeight },
    rollout: {
      batch_size: 6,
      group_size: groupSize,
      verifications_per_solution: critiques,
      judging_temperature: judgingTemperature,
    },
    advantage: { estimator: "dr_grpo", ...advantage },
    schedule: {
      generator_steps: 1,
      verifier_steps: verifier ? 1 : 0,
      total_training_steps: verifier ? 5 : 2,
      test_frequency: 0,
      save_frequency: 0,
    },
    evaluation: { problems: 2 },
    tuning: "default",
    samples_per_step: 24,
  });
  const lines = await loggedRun(gpu, config, folder);
  const samples = readJsonLines<Sample>(RunFolder.open(folder).samples);
  return lines.filter(({ phase }) => phase === "generator").map((line) => {
    const own = samples.filter(({ step, phase }) => phase === "generator" && step === line.step);
    assert.equal(own.length, 24);
    // A problem needs a step for each word, whatever its group does.
    const more = own.filter(({ problem, steps }) => steps.length > problem.split(" ").length);
    assert.equal(line["generator/frac_more_steps"], more.length / 24);
    return {
      line,
      groups: [0, 1, 2, 3, 4, 5].map((g) => own.slice(g * groupSize, (g + 1) * groupSize)),
    };
  });
}

/** A generator that solves a part of problems of two steps, which the tiny one never writes. */
export const writesSteps = {
  generator: fileURLToPath(
    new URL("../../../weights/last-letter/generator", import.meta.url),
  ),
  shortest: 2,
};
