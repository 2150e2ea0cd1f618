/** The policy loss of one token in float64: the plain statement of what policy_loss.wgsl computes. */

import type { KlEstimator } from "../../../src/kernels/losses/policy_loss.ts";

/** Value of a term and its derivative with respect to the policy's log-prob. */
export interface TermAndGradient {
  readonly value: number;
  readonly gradient: number;
}

/**
 * One token's KL estimate with r = refLogProb − logProb: k2 = r² / 2, k3 = exp(r) − r − 1, in which r is at
 * most 10. Its gradient treats it as a loss term, and is 0 beyond that bound, as that of torch.clamp.
 */
export function klEstimate(
  logProb: number,
  refLogProb: number,
  estimator: KlEstimator,
): TermAndGradient {
  const apart = refLogProb - logProb;
  if (estimator === "k2") return { value: 0.5 * apart ** 2, gradient: -apart };
  const r = Math.min(apart, 10);
  // expm1 keeps the digits that exp(r) − 1 − r would cancel for small r.
  return { value: Math.expm1(r) - r, gradient: apart > 10 ? 0 : -Math.expm1(r) };
}

/** One response token of a surrogate. */
export interface SurrogateToken {
  readonly logProb: number;
  /** Log-prob under the policy that wrote the token. */
  readonly oldLogProb: number;
  readonly advantage: number;
}

/** The range of the ratio. */
export interface ClipRange {
  readonly clipRatioLow: number;
  readonly clipRatioHigh: number;
}

/** The loss term, its derivative with respect to logProb, and what the log needs. */
export interface SurrogateTerm extends TermAndGradient {
  readonly ratio: number;
  readonly clipped: boolean;
}

/** −ratio · A */
export function importanceSampling(token: SurrogateToken): SurrogateTerm {
  const { logProb, oldLogProb, advantage } = token;
  const ratio = Math.exp(logProb - oldLogProb);
  return { value: -ratio * advantage, gradient: -ratio * advantage, ratio, clipped: false };
}

/**
 * PPO-clip (arXiv 1707.06347): −min(ratio · A, clip(ratio) · A). Its gradient is −ratio · A, or 0 where
 * clipping took effect: A > 0 with a ratio above the range, or A < 0 with one below it.
 */
export function clippedSurrogate(token: SurrogateToken, range: ClipRange): SurrogateTerm {
  const { value, gradient, ratio } = importanceSampling(token);
  const bounded = -clip(ratio, range) * token.advantage;
  return bounded > value
    ? { value: bounded, gradient: 0, ratio, clipped: true }
    : { value, gradient, ratio, clipped: false };
}

/** CISPO (arXiv 2506.13585): −clip(ratio) · A · logProb, the clipped ratio taken as a constant. */
export function clippedWeight(token: SurrogateToken, range: ClipRange): SurrogateTerm {
  const { ratio } = importanceSampling(token);
  const bound = clip(ratio, range);
  const gradient = -bound * token.advantage;
  return { value: gradient * token.logProb, gradient, ratio, clipped: bound !== ratio };
}

function clip(ratio: number, { clipRatioLow, clipRatioHigh }: ClipRange): number {
  return Math.min(Math.max(ratio, 1 - clipRatioLow), 1 + clipRatioHigh);
}
