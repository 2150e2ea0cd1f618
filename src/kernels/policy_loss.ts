import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { expectShape } from "./expect_shape.ts";
import code from "./policy_loss.wgsl" with { type: "text" };

/** Coefficients of the policy loss; see the formula in policy_loss.wgsl. */
export interface PolicyLossOptions {
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly entropyCoefficient: number;
  readonly klCoefficient: number;
  /**
   * 1: −r, 2: r²/2, 3: exp(r) − r − 1, with r = refLogProb − logProb (Schulman, "Approximating KL
   * divergence"); differentiated as written.
   */
  readonly klEstimator: 1 | 2 | 3;
  /** Weighs log-probs by the clipped ratio, so that every token has a gradient (CISPO). */
  readonly cispo?: boolean;
}

/**
 * Derivatives of the clipped policy loss (arXiv 1707.06347) with KL penalty and entropy bonus, for R
 * tokens. Nothing is clamped but the ratio: log-probs so far apart that exp overflows give a gradient
 * that is not finite, which `gradientNorm` counts and `adamw` does not apply.
 *
 * @param inputs all [R]; tokenWeights: what each token weighs in the loss, 0 for masked rows,
 *   whose outputs are 0; without refLogProbs there is no KL term
 * @param outputs logProbGradient [R], entropyGradient [R] of the loss that is minimised;
 *   statistics [R, 4] = (policy loss, kl, ratio, clipped 0 or 1) of each token, unweighted
 * @throws Error when the shapes do not fit, or for a KL coefficient without refLogProbs
 */
export function policyLoss(
  gpu: Gpu,
  inputs: {
    readonly logProbs: Tensor;
    readonly oldLogProbs: Tensor;
    readonly advantages: Tensor;
    readonly tokenWeights: Tensor;
    readonly refLogProbs?: Tensor;
  },
  outputs: {
    readonly logProbGradient: Tensor;
    readonly entropyGradient: Tensor;
    readonly statistics: Tensor;
  },
  options: PolicyLossOptions,
): void {
  const { logProbs, oldLogProbs, advantages, tokenWeights, refLogProbs } = inputs;
  const { logProbGradient, entropyGradient, statistics } = outputs;
  const { clipLow, clipHigh, klCoefficient, entropyCoefficient, klEstimator, cispo = false } =
    options;
  const rows = logProbs.shape[0];
  const perRow = {
    logProbs,
    oldLogProbs,
    advantages,
    tokenWeights,
    logProbGradient,
    entropyGradient,
  };
  for (const [name, tensor] of Object.entries(perRow)) {
    expectShape("policyLoss", name, tensor, [rows]);
  }
  expectShape("policyLoss", "statistics", statistics, [rows, 4]);
  if (refLogProbs) expectShape("policyLoss", "refLogProbs", refLogProbs, [rows]);
  else if (klCoefficient !== 0) {
    throw new Error(`policyLoss: klCoefficient is ${klCoefficient} but there are no refLogProbs`);
  }
  gpu.dispatch(
    { label: "policy loss", code, defines: { KL: refLogProbs ? klEstimator : 0, CISPO: cispo } },
    { rows, clipLow, clipHigh, klCoefficient, entropyCoefficient },
    { ...perRow, statistics, ...(refLogProbs && { refLogProbs }) },
    gpu.grid(Math.ceil(rows / 64)),
  );
}
