import type { PolicyUpdateOptions } from "../../../src/rl/update/policy_update.ts";

/** The clipped loss without its extras, with changes. */
export function lossOptions(changes: Partial<PolicyUpdateOptions> = {}): PolicyUpdateOptions {
  return {
    objective: "ppo",
    aggregation: "token-mean",
    maximumResponse: 64,
    clipRatioLow: 0.2,
    clipRatioHigh: 0.2,
    klCoefficient: 0,
    klEstimator: "k3",
    entropyCoefficient: 0,
    temperature: 1,
    miniBatches: 1,
    epochs: 1,
    ...changes,
  };
}
