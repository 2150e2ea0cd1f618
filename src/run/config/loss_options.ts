import type { PolicyLossOptions } from "../../rl/policy_update.ts";
import type { TangoConfig } from "./config_schema.ts";

/**
 * The loss of a policy's updates.
 *
 * @param maximumResponse tokens of its longest response
 */
export function lossOptions(
  { loss, rollout }: TangoConfig,
  maximumResponse: number,
): PolicyLossOptions {
  return {
    objective: loss.objective,
    aggregation: loss.aggregation,
    maximumResponse,
    clipLow: loss.clip_ratio_low,
    clipHigh: loss.clip_ratio_high,
    klCoefficient: loss.kl_coefficient,
    klEstimator: loss.kl_estimator,
    entropyCoefficient: loss.entropy_coefficient,
    temperature: rollout.temperature,
    sharePrompts: loss.share_prompts,
    microBatchTokens: loss.micro_batch_tokens,
    gradientCheckpointing: loss.gradient_checkpointing,
    miniBatches: loss.mini_batches,
    epochs: loss.epochs,
  };
}
