/** GRPO, RLOO, REINFORCE++, an outcome reward model and PRIME in whole runs, worked out again by hand. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { gpuOf } from "../../kernels/harness.ts";
import { loggedRun } from "../logged_run.ts";
import { type ByHand, expectCreditByHand } from "./credit_by_hand.ts";

const weights = (policy: string) =>
  fileURLToPath(new URL(`../../../weights/chains/${policy}`, import.meta.url));
const generator = weights("generator"), verifier = weights("verifier");
const optimizer = { learning_rate: 0.0003 };
const steps = {
  verifier: { model: verifier, max_response_length: 144, optimizer },
  alpha: { initial: 0.4, schedule: "none" },
};
const groupSize = 4;
const plain = { groupSize, outcomeWeight: 1, processWeight: 1, groundTruthWeight: 1 };

/** What each is told, and what it is by hand. */
const cases: Readonly<Record<string, { readonly config: object; readonly byHand: ByHand }>> = {
  "GRPO with process supervision": {
    config: { verifier: steps.verifier, advantage: { alpha: steps.alpha } },
    byHand: { ...plain, estimator: "grpo", process: "steps" },
  },
  "RLOO, the process advantage ten times as the reference has it": {
    config: {
      verifier: steps.verifier,
      advantage: { estimator: "rloo", alpha: steps.alpha, process_weight: 10 },
    },
    byHand: { ...plain, estimator: "rloo", process: "steps", processWeight: 10 },
  },
  "REINFORCE++": {
    config: {
      verifier: steps.verifier,
      advantage: { estimator: "reinforce++", alpha: steps.alpha },
      loss: { kl_coefficient: 0.001, kl_estimator: "k2", entropy_coefficient: 0 },
    },
    byHand: { ...plain, estimator: "reinforce++", process: "steps" },
  },
  "REINFORCE++ as the reference ran it, its process term 0": {
    config: {
      verifier: steps.verifier,
      advantage: { estimator: "reinforce++", alpha: steps.alpha, process_weight: 0 },
      loss: { kl_coefficient: 0.001, kl_estimator: "k2", entropy_coefficient: 0 },
    },
    byHand: { ...plain, estimator: "reinforce++", process: null, processWeight: 0 },
  },
  "an outcome reward model": {
    config: {
      verifier: { kind: "outcome", model: verifier, optimizer },
      advantage: { estimator: "rloo", alpha: { initial: 0, schedule: "none" } },
      rewards: { ground_truth_weight: 0.5 },
    },
    byHand: { ...plain, estimator: "rloo", process: null, groundTruthWeight: 0.5 },
  },
  "PRIME": {
    config: {
      verifier: { kind: "implicit", model: generator, beta: 0.5, optimizer },
      advantage: {
        estimator: "rloo",
        process: "token-to-go",
        alpha: { initial: 0.5, schedule: "none" },
        ...{ outcome_weight: 2, process_weight: 2 },
      },
      class_reweighting: { method: "none", pool: 24 },
    },
    byHand: { ...plain, estimator: "rloo", process: "tokens", outcomeWeight: 2, processWeight: 2 },
  },
};

for (const [name, { config, byHand }] of Object.entries(cases)) {
  Deno.test({
    name: `by hand: ${name}`,
    // The device outlives a test on purpose: it is opened once per process.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const folder = Deno.makeTempDirSync(), run = join(folder, "run");
      try {
        const parsed = tangoConfigSchema.parse({
          seed: 2,
          task: { name: "chains", minimum_steps: 2, maximum_steps: 3 },
          generator: { model: generator, max_response_length: 96, optimizer },
          rollout: { batch_size: 6, group_size: groupSize, candidates: 4 },
          loss: { kl_coefficient: 0, entropy_coefficient: 0 },
          // V G V G V G.
          schedule: {
            verifier_warmup_steps: 1,
            generator_steps: 1,
            total_training_steps: 6,
            test_frequency: 0,
            save_frequency: 0,
          },
          evaluation: { problems: 2 },
          tuning: "default",
          samples_per_step: 24,
          ...config,
        });
        await loggedRun(await gpuOf("native"), parsed, run);
        const { outcome, process } = expectCreditByHand(run, byHand);
        assert.ok(outcome > 0, "no outcome taught anything: nothing is tested");
        assert.equal(process > 0, byHand.process !== null);
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
    },
  });
}
