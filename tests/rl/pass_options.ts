import type { SupervisedPassOptions } from "../../src/rl/supervised_update.ts";

/** Passes of so many tokens that keep all activations. */
export const passes = (microBatchTokens = 8192): SupervisedPassOptions => ({
  microBatchTokens,
  gradientCheckpointing: false,
});
