import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { policyLoss } from "../../kernels/losses/policy_loss.ts";
import { sequenceOldLogProbs } from "../../kernels/losses/sequence_old_log_probs.ts";
import type { HeadOutput } from "../../model/decoder/head.ts";
import type {
  Loss,
  PolicyGradientLoss,
  SampledSequence,
  SequenceFor,
  WeightedSequence,
} from "./losses.ts";

/** A loss's derivatives for the R predictions of a pass. */
export interface LossGradient {
  /** [R] */
  readonly logProbs: Tensor;
  /** [R] */
  readonly entropies: Tensor;
  /** [R, 4] surrogate, kl, ratio, clipped of a policy-gradient loss */
  readonly statistics: Tensor | null;
}

/** Arrays of several sequences one after another. */
export function concatenate(arrays: readonly Float32Array[]): Float32Array<ArrayBuffer> {
  const result = new Float32Array(arrays.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const array of arrays) {
    result.set(array, at);
    at += array.length;
  }
  return result;
}

/**
 * The derivatives of a loss with respect to each log-prob and entropy. Call inside a `gpu.scope`.
 *
 * @param sequences of the pass, each with what the loss needs of it
 * @param head what is predicted in them, one after another
 * @param refLogProbs [R] of the loss's reference model; null where there is none
 */
export function lossGradient<L extends Loss>(
  gpu: Gpu,
  loss: L,
  sequences: readonly SequenceFor<L>[],
  head: HeadOutput,
  refLogProbs: Tensor | null,
): LossGradient;
export function lossGradient(
  gpu: Gpu,
  loss: Loss,
  sequences: readonly WeightedSequence[],
  head: HeadOutput,
  refLogProbs: Tensor | null,
): LossGradient {
  if (loss.name === "cross_entropy") return crossEntropyGradient(gpu, sequences);
  return policyGradient(gpu, loss, sequences as readonly SampledSequence[], head, refLogProbs);
}

function crossEntropyGradient(gpu: Gpu, sequences: readonly WeightedSequence[]): LossGradient {
  const gradient = concatenate(sequences.map(({ weights }) => weights)).map((weight) => -weight);
  const R = gradient.length;
  return {
    logProbs: gpu.from(gradient, [R], "f32", "log-prob gradient"),
    entropies: gpu.zeros([R], "f32", "entropy gradient"),
    statistics: null,
  };
}

function policyGradient(
  gpu: Gpu,
  loss: PolicyGradientLoss,
  sequences: readonly SampledSequence[],
  { logProbs }: HeadOutput,
  refLogProbs: Tensor | null,
): LossGradient {
  const [R] = logProbs.shape;
  const vector = (label: string, of: (sequence: SampledSequence) => Float32Array) =>
    gpu.from(concatenate(sequences.map(of)), [R], "f32", label);
  const made = {
    logProbs: gpu.tensor([R], "f32", "log-prob gradient"),
    entropies: gpu.tensor([R], "f32", "entropy gradient"),
    statistics: gpu.tensor([R, 4], "f32", "policy loss statistics"),
  };
  let oldLogProbs = vector("old log-probs", (sequence) => sequence.oldLogProbs);
  if (loss.name === "gspo") {
    const own = oldLogProbs;
    oldLogProbs = gpu.tensor([R], "f32", "old log-probs of sequences");
    sequenceOldLogProbs(gpu, logProbs, own, sequenceStarts(gpu, sequences), oldLogProbs);
  }
  const reference = loss.kl &&
    (refLogProbs ?? vector("reference log-probs", (sequence) => givenRefLogProbs(sequence)));
  policyLoss(
    gpu,
    {
      logProbs,
      oldLogProbs,
      refLogProbs: reference ?? undefined,
      advantages: vector("advantages", ({ advantages }) => advantages),
      tokenWeights: vector("token weights", ({ weights }) => weights),
    },
    {
      logProbGradient: made.logProbs,
      entropyGradient: made.entropies,
      statistics: made.statistics,
    },
    {
      objective: loss.name === "gspo" ? "ppo" : loss.name,
      clip: loss.name === "importance_sampling" ? null : loss,
      entropyCoefficient: loss.entropyCoefficient,
      kl: loss.kl,
    },
  );
  return made;
}

function givenRefLogProbs({ refLogProbs }: SampledSequence): Float32Array {
  if (refLogProbs) return refLogProbs;
  throw new Error("a KL term without a reference model needs every sequence's refLogProbs");
}

/** First prediction of each sequence, and the number of all, u32 [S + 1]. */
function sequenceStarts(gpu: Gpu, sequences: readonly SampledSequence[]): Tensor {
  const starts = new Uint32Array(sequences.length + 1);
  sequences.forEach(({ targets }, s) => starts[s + 1] = starts[s] + targets.length);
  return gpu.from(starts, [starts.length], "u32", "sequence starts");
}
