import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { gatherRows, scatterRows } from "../kernels/gather_rows.ts";
import { policyLoss } from "../kernels/policy_loss.ts";
import { sequenceRatio } from "../kernels/sequence_ratio.ts";
import { backward } from "../model/decoder/backward.ts";
import { forwardForTraining, forwardOnly } from "../model/decoder/forward.ts";
import { headBackward, headForward } from "../model/decoder/head.ts";
import type { Model } from "../model/decoder/model.ts";
import type { Optimizer } from "../model/decoder/optimizer.ts";
import { packPrefixGroups } from "../model/decoder/packed_batch.ts";
import type { KlEstimator } from "./kl.ts";
import { cutByTokens } from "../engine/micro_batches.ts";
import {
  groupByPrompt,
  promptGroupTokens,
  promptPrefixGroup,
  responseRows,
} from "../engine/prompt_groups.ts";
import { type LossAggregation, tokenWeights } from "./token_weights.ts";

/** One response with everything its policy gradient needs. L response tokens. */
export interface PolicySample {
  readonly prompt: Uint32Array;
  /** [L] */
  readonly response: Uint32Array;
  /** [L] log-probabilities under the policy that sampled the response */
  readonly oldLogProbs: Float32Array;
  /** [L] */
  readonly advantages: Float32Array;
  /** Left out of the loss and of its mean. */
  readonly isMasked?: boolean;
}

/** The surrogate that stands for the policy's improvement. */
export type PolicyObjective = "ppo" | "gspo" | "cispo";

/** The loss of one update. */
export interface PolicyLossOptions {
  /** `ppo` clips each token's ratio, `gspo` each sequence's, `cispo` clips the weight of its gradient. */
  readonly objective: PolicyObjective;
  readonly aggregation: LossAggregation;
  /** Tokens of the longest response allowed. */
  readonly maximumResponse: number;
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly klCoefficient: number;
  readonly klEstimator: KlEstimator;
  readonly entropyCoefficient: number;
  /** Responses were sampled from softmax(logits / temperature). */
  readonly temperature: number;
  /** Neighbouring samples with the same prompt compute it once; a pass then holds all of them or none. */
  readonly sharePrompts: boolean;
  /** Tokens of one forward and backward pass. */
  readonly microBatchTokens: number;
  /** Keeps each layer's input alone for the backward pass, which computes the rest again. */
  readonly gradientCheckpointing: boolean;
  /** Optimizer steps that a batch is cut into. */
  readonly miniBatches: number;
  /** Passes over the batch. */
  readonly epochs: number;
}

/** Means over the response tokens of a step, measured before its first optimizer step where that matters. */
export interface PolicyUpdateMetrics {
  readonly policyLoss: number;
  /** Estimated divergence from the reference, nats; 0 without a reference. */
  readonly kl: number;
  readonly entropy: number;
  /** Share of tokens whose gradient the clip cut off. */
  readonly clipRatio: number;
  readonly ratioMean: number;
  /** Mean over the optimizer steps. */
  readonly gradientNorm: number;
  /** Gradient elements that were NaN or infinite; their steps were skipped. */
  readonly nonFinite: number;
  /** Largest |log-prob of the trainer - log-prob of the rollout| before the first update. */
  readonly logProbDifferenceMax: number;
  readonly logProbDifferenceMean: number;
  /** Response tokens that were learned from. */
  readonly tokens: number;
  /** Share of the responses that were left out of the loss. */
  readonly maskedShare: number;
}

const klEstimators: readonly KlEstimator[] = ["k1", "k2", "k3"];

interface Totals {
  policyLoss: number;
  kl: number;
  entropy: number;
  clipped: number;
  ratio: number;
  tokens: number;
  differenceMax: number;
  differenceSum: number;
  differenceCount: number;
}

/**
 * The clipped update of one policy (PPO, Schulman et al. 2017, or another objective) with a KL term against
 * `reference` and an entropy bonus, averaged over each mini-batch, however it is cut into passes.
 *
 * @param reference the frozen model the KL is measured against; null for none
 */
export async function updatePolicy(
  model: Model,
  optimizer: Optimizer,
  reference: Model | null,
  samples: readonly PolicySample[],
  options: PolicyLossOptions,
  learningRate: number,
): Promise<PolicyUpdateMetrics> {
  const totals: Totals = {
    policyLoss: 0,
    kl: 0,
    entropy: 0,
    clipped: 0,
    ratio: 0,
    tokens: 0,
    differenceMax: 0,
    differenceSum: 0,
    differenceCount: 0,
  };
  let normSum = 0;
  let nonFinite = 0;
  let updates = 0;
  const miniBatchSize = Math.ceil(samples.length / options.miniBatches);
  for (let epoch = 0; epoch < options.epochs; epoch++) {
    for (let first = 0; first < samples.length; first += miniBatchSize) {
      const miniBatch = samples.slice(first, first + miniBatchSize);
      const weights = tokenWeights(
        miniBatch.map(({ response: { length }, isMasked = false }) => ({ length, isMasked })),
        options.aggregation,
        options.maximumResponse,
      );
      const weightOf = new Map(miniBatch.map((sample, i) => [sample, weights?.[i] ?? 0]));
      optimizer.zeroGradients();
      const groups = groupByPrompt(miniBatch, options.sharePrompts);
      const most = Math.min(options.microBatchTokens, model.tokensPerPass);
      for (const microBatch of cutByTokens(groups, promptGroupTokens, most)) {
        await accumulate(model, reference, microBatch, options, weightOf, updates === 0, totals);
      }
      // Nothing to learn from: not even the weights' decay is applied.
      if (weights === null) continue;
      const result = await optimizer.update(learningRate);
      normSum += result.gradientNorm;
      nonFinite += result.nonFinite;
      updates++;
    }
  }
  const tokens = Math.max(1, totals.tokens);
  return {
    policyLoss: totals.policyLoss / tokens,
    kl: totals.kl / tokens,
    entropy: totals.entropy / tokens,
    clipRatio: totals.clipped / tokens,
    ratioMean: totals.ratio / tokens,
    gradientNorm: normSum / Math.max(1, updates),
    nonFinite,
    logProbDifferenceMax: totals.differenceMax,
    logProbDifferenceMean: totals.differenceSum / Math.max(1, totals.differenceCount),
    tokens: totals.tokens,
    maskedShare: samples.filter(({ isMasked }) => isMasked).length / Math.max(1, samples.length),
  };
}

/** Where each sample's rows begin, and their number, u32 [S + 1]. */
function sequenceStarts(gpu: Gpu, samples: readonly PolicySample[]): Tensor {
  const starts = new Uint32Array(samples.length + 1);
  samples.forEach(({ response }, s) => starts[s + 1] = starts[s] + response.length);
  return gpu.from(starts, [starts.length], "u32", "sequence starts");
}

function concatenate(arrays: readonly Float32Array[]): Float32Array {
  const result = new Float32Array(arrays.reduce((sum, array) => sum + array.length, 0));
  let at = 0;
  for (const array of arrays) {
    result.set(array, at);
    at += array.length;
  }
  return result;
}

/** One forward and backward pass; adds to the gradients and to `totals`. */
async function accumulate(
  model: Model,
  reference: Model | null,
  groups: readonly (readonly PolicySample[])[],
  options: PolicyLossOptions,
  weightOf: ReadonlyMap<PolicySample, number>,
  beforeFirstUpdate: boolean,
  totals: Totals,
): Promise<void> {
  const { gpu } = model;
  const width = model.config.hiddenSize;
  const samples = groups.flat();
  const oldLogProbs = concatenate(samples.map((sample) => sample.oldLogProbs));
  const weights = concatenate(
    samples.map((sample) =>
      new Float32Array(sample.response.length).fill(weightOf.get(sample) ?? 0)
    ),
  );
  const made = gpu.scope(() => {
    const batch = packPrefixGroups(gpu, groups.map(promptPrefixGroup));
    const { rows, targets } = responseRows(samples, batch.sequenceEnds);
    const R = rows.length;
    const rowTensor = gpu.from(rows, [R], "u32", "response rows");
    const targetTensor = gpu.from(targets, [R], "u32", "targets");
    const inverseTemperature = 1 / options.temperature;
    const headOf = (of: Model, hidden: Tensor) => {
      const gathered = gpu.tensor([R, of.config.hiddenSize], "f32", "response hidden");
      gatherRows(gpu, hidden, rowTensor, gathered);
      return { gathered, head: headForward(of, gathered, targetTensor, inverseTemperature) };
    };
    const vector = (data: Float32Array, label: string) => gpu.from(data, [R], "f32", label);
    const refLogProbs = reference
      ? gpu.scope(
        () => headOf(reference, forwardOnly(reference, batch)).head.logProbs,
        (kept) => [kept],
      )
      : null;
    const activations = forwardForTraining(model, batch, options.gradientCheckpointing);
    const { gathered, head } = headOf(model, activations.hidden);
    const logProbGradient = gpu.tensor([R], "f32", "log-prob gradient");
    const entropyGradient = gpu.tensor([R], "f32", "entropy gradient");
    const stats = gpu.tensor([R, 4], "f32", "policy loss statistics");
    let old = vector(oldLogProbs, "old log-probs");
    if (options.objective === "gspo") {
      const own = old;
      old = gpu.tensor([R], "f32", "old log-probs of sequences");
      sequenceRatio(gpu, head.logProbs, own, sequenceStarts(gpu, samples), old);
    }
    policyLoss(
      gpu,
      {
        logProbs: head.logProbs,
        oldLogProbs: old,
        refLogProbs: refLogProbs ?? undefined,
        advantages: vector(concatenate(samples.map((s) => s.advantages)), "advantages"),
        tokenWeights: vector(weights, "token weights"),
      },
      { logProbGradient, entropyGradient, statistics: stats },
      {
        clipLow: options.clipLow,
        clipHigh: options.clipHigh,
        klCoefficient: reference ? options.klCoefficient : 0,
        klEstimator: klEstimators.indexOf(options.klEstimator) + 1 as 1 | 2 | 3,
        entropyCoefficient: options.entropyCoefficient,
        cispo: options.objective === "cispo",
      },
    );
    const dGathered = headBackward(
      model,
      gathered,
      targetTensor,
      inverseTemperature,
      head,
      logProbGradient,
      entropyGradient,
    );
    const dHidden = gpu.zeros([batch.size, width], "f32", "hidden gradient");
    scatterRows(gpu, dGathered, rowTensor, dHidden);
    backward(model, batch, activations, dHidden);
    return [head.logProbs, head.entropy, stats];
  }, (kept) => kept);
  const [logProbs, entropy, stats] = await gpu.readAll(made);
  gpu.release(...made);
  for (let i = 0; i < logProbs.length; i++) {
    if (weights[i] > 0) {
      totals.policyLoss += stats[4 * i];
      totals.kl += stats[4 * i + 1];
      totals.ratio += stats[4 * i + 2];
      totals.clipped += stats[4 * i + 3];
      totals.entropy += entropy[i];
      totals.tokens++;
    }
    if (beforeFirstUpdate) {
      const difference = Math.abs(logProbs[i] - oldLogProbs[i]);
      totals.differenceMax = Math.max(totals.differenceMax, difference);
      totals.differenceSum += difference;
      totals.differenceCount++;
    }
  }
}
