import { logProbsOf, updateRewardModel } from "../../rl/update/update_reward_model.ts";
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
  const compute = { passes: trainerOptions(config), hasReference: isImplicit };
  const ofProblem = Math.max(config.rollout.candidates, config.rollout.group_size);
  // Of an outcome model the two verdicts about a solution share a prompt, of an implicit one a problem's solutions.
  const size = isImplicit ? ofProblem : 2;
  const batchSize = config.rollout.batch_size * (isImplicit ? 1 : ofProblem);
  const response = isImplicit ? generator.maximumResponse : verifier.maximumResponse;
  const solutionsOf = (promptTokens: number, miniBatches: number) => {
    const rollout = { ...config.rollout, batch_size: batchSize };
    const loss = { ...config.loss, mini_batches: miniBatches };
    const pass = fullestPass(
      { ...config, rollout, loss },
      size,
      here.model,
      promptTokens,
      response,
    );
    // The pass as many times as there are shards, so that each shard makes it.
    const groups = Array.from({ length: config.reduction.shards }, () => pass).flat();
    return groups.map((group, g) => ({
      // Neighbours with the same prompt would share it.
      texts: group.map(({ response }) => ({
        ...{ prompt: new Uint32Array(promptTokens).fill(g % 2), response, factor: 1 },
      })),
      ...{ isCorrect: true, weight: 1 },
    }));
  };
  const ofBoth = (run: (promptTokens: number) => Promise<unknown>) => async () => {
    for (const promptTokens of [shortest, longest]) await run(promptTokens);
  };
  return [
    {
      what: "scoring solutions",
      run: ofBoth((promptTokens) => {
        const texts = solutionsOf(promptTokens, 1).flatMap((one) => one.texts);
        return logProbsOf(compute, here, texts);
      }),
    },
    ...(trainer
      ? [{
        what: "training the verifier",
        run: ofBoth((promptTokens) => {
          const solutions = solutionsOf(promptTokens, config.loss.mini_batches);
          return updateRewardModel(
            compute,
            here,
            solutions,
            { miniBatches: 1, epochs: 1 },
            anyNumbers,
          );
        }),
        among: shardSumUses(trainer),
      }]
      : []),
  ];
}
