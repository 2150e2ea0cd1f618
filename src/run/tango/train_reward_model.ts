/** Verifier steps of a reward model: what they need is taken from the configuration here. */

import { camelCased } from "../../base/camel_cased.ts";
import { RandomStream, streams } from "../../random/philox.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";
import type { RewardModel } from "../../rl/reward_model.ts";
import { rewardModelStep } from "../../rl/reward_model_step.ts";
import type { TangoStep } from "../../rl/schedule/tango_schedule.ts";
import { rewardModelParts } from "../record/step_parts.ts";
import { rolloutSampling } from "./held_out_evaluation.ts";
import { rewardModelStepMetrics } from "./reward_model_metrics.ts";
import { drawBalanced, restored } from "./solution_pool.ts";
import { rewardModelSamples } from "./step_samples.ts";
import type { JudgingState } from "./tango_state.ts";
import type { StepContext, StepOutcome } from "./training_steps.ts";

/**
 * Trains a reward model.
 *
 * @param meanwhile work of the ranks that do not hold it, while the others update it
 */
export async function trainRewardModel(
  { config, policies: { generator }, problems, during }: StepContext,
  rewardModel: RewardModel<unknown>,
  step: TangoStep,
  judging: JudgingState,
  adamw: AdamwNumbers,
  meanwhile: () => Promise<void>,
): Promise<Omit<StepOutcome, "judging"> & Pick<JudgingState, "classCounts">> {
  const { rollout, rewards, classReweighting, loss } = camelCased(config);
  const { batchSize, candidates } = rollout;
  const { minimumSteps } = rewards;
  const { source } = problems;
  const drawn = new Set(drawBalanced(
    judging.pool,
    batchSize * candidates,
    new RandomStream(config.seed, streams.verifierPool, step.globalStep),
  ));
  // In the pool's order: solutions of a problem share its prompt.
  const chosen = judging.pool.filter((one) => drawn.has(one));
  const earlier = restored(generator, problems, chosen, { batchSize, minimumSteps });
  const fresh = Math.ceil((batchSize * candidates - earlier.length) / candidates);
  const result = await rewardModelStep(
    generator,
    rewardModel,
    source,
    fresh === 0 ? [] : problems.draw(step.globalStep, fresh),
    {
      candidates,
      minimumSteps,
      classReweighting,
      classCounts: judging.classCounts,
      earlier,
      cut: loss,
      adamw,
      generatorSampling: rolloutSampling(config, streams.generatorRollout, step.globalStep),
      during,
      meanwhile,
    },
  );
  const { scored, update } = result;
  const [{ solution }] = scored;
  const [text] = rewardModel.textsOf(solution);
  const { pool } = config.class_reweighting;
  return {
    metrics: {
      ...rewardModelStepMetrics(source, result, rewardModel, adamw),
      ...(pool === 0 ? {} : { "verifier/frac_from_pool": earlier.length / scored.length }),
    },
    samples: rewardModelSamples(step.globalStep, source, result, config.samples_per_step),
    parts: rewardModelParts(source, result),
    tokens: result.sampledTokens + (update?.tokens ?? 0),
    learned: result,
    answers: {
      generator: { prompt: solution.prompt, response: solution.rollout.tokens },
      verifier: text,
    },
    classCounts: result.classCounts,
  };
}
