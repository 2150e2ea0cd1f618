/** How advantages are estimated from rewards. */
export type AdvantageEstimator = "grpo" | "dr_grpo" | "rloo" | "reinforce++";

/** A rewarded response, as the advantage functions need it. */
export interface ScoredResponse {
  /** Identifies the problem (or, for a verifier, the problem and solution) it belongs to. */
  group: number | string;
  /** Number of response tokens T. */
  responseLength: number;
  /** Outcome reward R of the sequence. */
  reward: number;
  /** Rewards of the steps; empty when there are none. */
  stepRewards: readonly number[];
  /** Response token that ends each step, ascending, one per step reward. */
  stepEndTokens: readonly number[];
}
