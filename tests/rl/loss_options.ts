import type { PolicyLossOptions } from "../../src/rl/policy_update.ts";

/** The clipped loss without its extras, with changes. */
export function lossOptions(changes: Partial<PolicyLossOptions> = {}): PolicyLossOptions {
  return {
    objective: "ppo",
    aggregation: "token-mean",
    maximumResponse: 64,
    clipLow: 0.2,
    clipHigh: 0.2,
    klCoefficient: 0,
    klEstimator: "k3",
    entropyCoefficient: 0,
    temperature: 1,
    sharePrompts: true,
    microBatchTokens: 8192,
    gradientCheckpointing: false,
    miniBatches: 1,
    epochs: 1,
    ...changes,
  };
}
