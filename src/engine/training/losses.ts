import type { KlEstimator, PolicyObjective } from "../../kernels/losses/policy_loss.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { TrainingSequence } from "./sequence.ts";

/** A sequence whose predictions count as much as their weights say. R predictions. */
export interface WeightedSequence extends TrainingSequence {
  /** [R] what each prediction weighs in the loss; 0 leaves it out */
  readonly weights: Float32Array;
}

/** A sequence that was sampled, and how good each of its tokens was. R predictions. */
export interface SampledSequence extends WeightedSequence {
  /** [R] log-probabilities under the policy that sampled it */
  readonly oldLogProbs: Float32Array;
  /** [R] */
  readonly advantages: Float32Array;
  /** [R] log-probabilities under the reference, for a KL term that has no model for it */
  readonly refLogProbs?: Float32Array;
}

/** Σ weight · −logProb. */
export interface CrossEntropyLoss {
  readonly name: "cross_entropy";
}

/** Divergence from a reference policy, added to the loss. */
export interface KlTerm {
  readonly coefficient: number;
  readonly estimator: KlEstimator;
  /** The reference model; null: each sequence brings `refLogProbs`. */
  readonly reference: Model | null;
}

/** Terms that every policy-gradient loss may have besides its surrogate. */
interface PolicyGradientTerms {
  readonly kl: KlTerm | null;
  /** Weight of the entropy bonus. */
  readonly entropyCoefficient: number;
}

/**
 * Σ weight · (surrogate + coefficient · kl − entropyCoefficient · entropy), with the surrogate, of
 * ratio = exp(logProb − oldLogProb) and advantage A,
 * - `importance_sampling`: −ratio · A;
 * - `ppo`: −min(ratio · A, clip(ratio) · A) (arXiv 1707.06347);
 * - `gspo`: as ppo, with the geometric mean of a sequence's ratios for each of its tokens, whose gradient goes
 *   through the token's own log-prob (GSPO-token, arXiv 2507.18071; the sequence's derivative where all its
 *   tokens have one weight and one advantage);
 * - `cispo`: −clip(ratio) · A · logProb, the clipped ratio taken as a constant (arXiv 2506.13585).
 */
export type PolicyGradientLoss =
  | PolicyGradientTerms & { readonly name: "importance_sampling" }
  | PolicyGradientTerms & {
    readonly name: ClippedObjective;
    /** The ratio is clipped to 1 − clipRatioLow … 1 + clipRatioHigh. */
    readonly clipRatioLow: number;
    readonly clipRatioHigh: number;
  };

/** The surrogates that clip the ratio. */
export type ClippedObjective = Exclude<PolicyObjective, "importance_sampling"> | "gspo";

/** A loss by its name; it is a sum, divided by nothing. */
export type Loss = CrossEntropyLoss | PolicyGradientLoss;

/** The sequences that a loss takes. */
export type SequenceFor<L extends Loss> = L extends CrossEntropyLoss ? WeightedSequence
  : SampledSequence;

/**
 * Whether a sequence's part of a loss's gradient can be other than 0: not where all its weights are, nor where all its
 * advantages are and neither divergence nor entropy acts on it.
 */
export function changesGradient<L extends Loss>(loss: L, sequence: SequenceFor<L>): boolean;
export function changesGradient(loss: Loss, sequence: WeightedSequence): boolean {
  const isZero = (value: number) => value === 0;
  if (sequence.weights.every(isZero)) return false;
  if (loss.name === "cross_entropy") return true;
  const actsOnAll = (loss.kl?.coefficient ?? 0) > 0 || loss.entropyCoefficient !== 0;
  return actsOnAll || !(sequence as SampledSequence).advantages.every(isZero);
}

/** Outputs of a pass for a sequence's predictions. R predictions. */
export interface TokenOutputs {
  /** [R] log-probabilities of the targets */
  readonly logProbs: Float32Array;
  /** [R] of the whole distributions, nats */
  readonly entropies: Float32Array;
}

/** The terms of a policy-gradient loss, unweighted; all 0 where the weight is. R predictions. */
export interface PolicyTerms {
  /** [R] */
  readonly surrogates: Float32Array;
  /** [R] estimated divergence from the reference, nats; 0 without one */
  readonly kls: Float32Array;
  /** [R] exp(logProb − oldLogProb), in gspo the sequence's */
  readonly ratios: Float32Array;
  /** [R] 1 where the clip took effect */
  readonly clipped: Float32Array;
}

/** Outputs under a loss: a policy-gradient loss has terms besides. */
export type LossOutputs<L extends Loss> = L extends CrossEntropyLoss ? TokenOutputs
  : TokenOutputs & PolicyTerms;
