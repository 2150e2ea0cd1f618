/** Estimators of KL(policy || reference) from one sampled token (Schulman, "Approximating KL divergence"). */
export type KlEstimator = "k1" | "k2" | "k3";

/** Value of a per-token term and its derivative with respect to the policy's log-prob. */
export interface TermAndGradient {
  value: number;
  gradient: number;
}

/**
 * One token's KL estimate with d = logProb - refLogProb:
 *   k1 = d;  k2 = d^2 / 2;  k3 = exp(-d) + d - 1 (the low-variance one; never negative).
 * The gradient treats the estimate as a loss term, as the reference implementation does. For k1 it is
 * the constant 1, which carries no information: use k1 for logging or in the reward only.
 * Float64; the plain statement of what the GPU loss computes.
 */
export function klEstimate(
  logProb: number,
  refLogProb: number,
  estimator: KlEstimator,
): TermAndGradient {
  const difference = logProb - refLogProb;
  switch (estimator) {
    case "k1":
      return { value: difference, gradient: 1 };
    case "k2":
      return { value: 0.5 * difference ** 2, gradient: difference };
    case "k3":
      // expm1 keeps the digits that exp(-d) - 1 + d would cancel for small d.
      return { value: Math.expm1(-difference) + difference, gradient: -Math.expm1(-difference) };
  }
}
