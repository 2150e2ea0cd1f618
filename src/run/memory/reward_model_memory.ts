import { logProbsOf, updateRewardModel } from "../../rl/update/update_reward_model.ts";
import type { ScoredText } from "../../rl/reward/solution_score.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { trainerOptions } from "../config/loss_options.ts";
import type { Policies } from "../tango/policies.ts";
import { anyNumbers } from "./any_numbers.ts";
import { type RehearsedPhase, shardSumUses } from "./memory_plan.ts";
import type { PromptLengths } from "./rehearsed_sampling.ts";
import { fullestPass } from "./tango_memory_plan.ts";

/**
 * The phases of a reward model: one pass of the fullest micro-batch, with prompts that take much of it and with prompts
 * that take little. None where other ranks hold it.
 */
export function rewardModelPhases(
  config: TangoConfig,
  { generator, verifier }: Policies,
  { shortest, longest }: PromptLengths,
): RehearsedPhase[] {
  const here = verifier?.engine.here;
  if (!verifier || !here) return [];
  const { trainer } = here;
  const isImplicit = config.verifier?.kind === "implicit";
  // Of an outcome model the two verdicts are compared, of an implicit one all solutions of a problem are read.
  const size = isImplicit ? Math.max(config.rollout.candidates, config.rollout.group_size) : 2;
  const response = isImplicit ? generator.maximumResponse : verifier.maximumResponse;
  const compute = { passes: trainerOptions(config), hasReference: isImplicit };
  const run = async () => {
    for (const promptTokens of [shortest, longest]) {
      const pass = fullestPass(config, size, here.model, promptTokens, response);
      // The pass as many times as there are shards, so that each shard makes it.
      const groups = Array.from({ length: config.reduction.shards }, () => pass).flat();
      const solutions = groups.map((group, g) => ({
        // Neighbours with the same prompt would share it.
        texts: group.map(({ response }): ScoredText => ({
          prompt: new Uint32Array(promptTokens).fill(g % 2),
          response,
          factor: 1,
        })),
        isCorrect: true,
        weight: 1,
      }));
      await (trainer
        ? updateRewardModel(compute, here, solutions, 1, anyNumbers)
        : logProbsOf(compute, here, solutions.flatMap(({ texts }) => texts)));
    }
  };
  const what = trainer ? "training the verifier" : "scoring solutions";
  return [{ what, run, ...(trainer ? { among: shardSumUses(trainer) } : {}) }];
}
