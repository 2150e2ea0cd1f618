import type { TermAndGradient } from "./kl.ts";

/** One response token of the PPO-clip surrogate. */
export interface SurrogateToken {
  /** Log-prob under the policy being trained. */
  logProb: number;
  /** Log-prob under the policy that wrote the token. */
  oldLogProb: number;
  advantage: number;
  /** The ratio is clipped to [1 - clipLow, 1 + clipHigh]. */
  clipLow: number;
  clipHigh: number;
}

/** The loss term, its derivative with respect to logProb, and what the log needs. */
export interface SurrogateTerm extends TermAndGradient {
  ratio: number;
  /** The clipped side was taken, so the gradient is 0. */
  clipped: boolean;
}

/**
 * PPO-clip loss of one token (arXiv 1707.06347): -min(r A, clip(r, 1 - clipLow, 1 + clipHigh) A) with
 * r = exp(logProb - oldLogProb). Its gradient is -r A, or 0 where clipping took effect: A > 0 with r
 * above the range, or A < 0 with r below it. Float64; the plain statement of what the GPU loss computes.
 */
export function clippedSurrogate(token: SurrogateToken): SurrogateTerm {
  const { advantage, clipLow, clipHigh } = token;
  const ratio = Math.exp(token.logProb - token.oldLogProb);
  const clippedRatio = Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh);
  const clipped = clippedRatio * advantage < ratio * advantage;
  return {
    value: -(clipped ? clippedRatio : ratio) * advantage,
    gradient: clipped ? 0 : -ratio * advantage,
    ratio,
    clipped,
  };
}
