import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { expectShape } from "../parts/expect_shape.ts";
import code from "./policy_loss.wgsl" with { type: "text" };

/** The surrogate of the policy's improvement; formulas in policy_loss.wgsl. */
export type PolicyObjective = "importance_sampling" | "ppo" | "cispo";

/**
 * How the divergence from the reference is estimated from one sampled token: k2 is r²/2, k3 is
 * exp(r) − r − 1 with r at most 10, r = refLogProb − logProb (Schulman, "Approximating KL divergence").
 */
export type KlEstimator = "k2" | "k3";

/** Coefficients of the policy loss; see the formulas in policy_loss.wgsl. */
export interface PolicyLossNumbers {
  readonly objective: PolicyObjective;
  /** The ratio is clipped to 1 − clipRatioLow … 1 + clipRatioHigh; null exactly for `importance_sampling`. */
  readonly clip: { readonly clipRatioLow: number; readonly clipRatioHigh: number } | null;
  readonly entropyCoefficient: number;
  /** Null without a reference. */
  readonly kl: { readonly coefficient: number; readonly estimator: KlEstimator } | null;
}

/**
 * Derivatives of the clipped policy loss (arXiv 1707.06347) with KL penalty and entropy bonus, for R
 * tokens. A ratio so large that exp overflows gives a gradient that is not finite, which `gradientNorm` counts and `adamw` does not apply.
 *
 * @param inputs all [R]; tokenWeights: what each token weighs in the loss, 0 for masked rows,
 *   whose outputs are 0; refLogProbs exactly when there is a KL term
 * @param outputs logProbGradient [R], entropyGradient [R] of the loss that is minimised;
 *   statistics [R, 4] = (policy loss, kl, ratio, clipped 0 or 1) of each token, unweighted
 * @throws Error when the shapes do not fit, or the inputs not the numbers
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
  { objective, clip, entropyCoefficient, kl }: PolicyLossNumbers,
): void {
  const { logProbs, oldLogProbs, advantages, tokenWeights, refLogProbs } = inputs;
  const { logProbGradient, entropyGradient, statistics } = outputs;
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
  if ((kl === null) !== (refLogProbs === undefined)) {
    throw new Error("policyLoss: a KL term and refLogProbs come together or not at all");
  }
  if ((clip === null) !== (objective === "importance_sampling")) {
    throw new Error(`policyLoss: ${objective} ${clip ? "does not clip" : "needs clip"}`);
  }
  gpu.dispatch(
    {
      label: "policy loss",
      code,
      defines: { KL: kl?.estimator ?? "none", OBJECTIVE: objective },
    },
    {
      rows,
      clipRatioLow: clip?.clipRatioLow ?? 0,
      clipRatioHigh: clip?.clipRatioHigh ?? 0,
      klCoefficient: kl?.coefficient ?? 0,
      entropyCoefficient,
    },
    { ...perRow, statistics, ...(refLogProbs && { refLogProbs }) },
    gpu.grid(Math.ceil(rows / 64)),
  );
}
