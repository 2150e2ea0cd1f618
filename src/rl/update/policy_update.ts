import {
  changesGradient,
  type ClippedObjective,
  type PolicyGradientLoss,
  type PolicyTerms,
  type SampledSequence,
  type TokenOutputs,
} from "../../engine/training/losses.ts";
import { HostReference } from "../../engine/training/host_reference.ts";
import { promptedSequence } from "../../engine/training/sequence.ts";
import type { Trainer } from "../../engine/training/trainer.ts";
import type { KlEstimator } from "../../kernels/losses/policy_loss.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";
import type { ExpertLoad } from "../../model/decoder/expert_loads.ts";
import type { Model } from "../../model/decoder/model.ts";
import { type DuringPhase, unwatched } from "../schedule/step_phase.ts";
import { miniBatchesOf } from "./mini_batches.ts";
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
  /** Which responses it is compared with: mini-batches hold all of them. Without one it stands alone. */
  readonly group?: number | string;
  /** Whether the response is left out of the loss and of its mean. */
  readonly isMasked?: boolean;
  /** Whether its tokens' log-prob differences are to be kept. */
  readonly isWatched?: boolean;
}

/** How a policy learns from a batch of its responses. */
export interface PolicyUpdateOptions {
  /** `ppo` clips each token's ratio, `gspo` each sequence's, `cispo` clips the weight of its gradient. */
  readonly objective: ClippedObjective;
  readonly aggregation: LossAggregation;
  /** Tokens of the longest response allowed. */
  readonly maximumResponse: number;
  readonly clipRatioLow: number;
  readonly clipRatioHigh: number;
  readonly klCoefficient: number;
  readonly klEstimator: KlEstimator;
  readonly entropyCoefficient: number;
  /** Responses were sampled from softmax(logits / temperature). */
  readonly temperature: number;
  /** Optimizer steps that the responses of a batch that are learned from are cut into, see `miniBatchesOf`. */
  readonly miniBatches: number;
  /** Passes over the batch. */
  readonly epochs: number;
}

/**
 * Means over the response tokens of a step, measured before its first optimizer step where that matters. Responses
 * that change no gradient (`changesGradient`) are not computed: what takes their log-probs is measured without them.
 */
export interface PolicyUpdateMetrics {
  /** The mean over `tokens`, to which responses that were not computed give 0. */
  readonly policyLoss: number;
  /** Estimated divergence from the reference, nats; 0 without a reference. */
  readonly kl: number;
  readonly entropy: number;
  /** Share of tokens whose gradient the clip cut off. */
  readonly clipRatio: number;
  readonly ratioMean: number;
  /** Mean over the optimizer steps. */
  readonly gradientNorm: number;
  /** Of the update that spread tokens over experts least evenly; null of a model without experts. */
  readonly expertLoad: ExpertLoad | null;
  /** Gradient elements that were NaN or infinite; their steps were skipped. */
  readonly nonFinite: number;
  /** Whether each optimizer step took effect: a gradient that is not finite skips it. */
  readonly applied: readonly boolean[];
  /**
   * Largest |log-prob of the trainer - log-prob of the rollout| before the first update, of the responses that were
   * computed and of those watched; null when there were none.
   */
  readonly logProbDifferenceMax: number | null;
  readonly logProbDifferenceMean: number | null;
  /** [L] log-prob of the trainer - log-prob of the rollout, of each watched sample among these, by its place. */
  readonly logProbDifferences: ReadonlyMap<number, Float32Array>;
  /** Response tokens that the loss is a mean over, those of a response of no advantage among them. */
  readonly tokens: number;
  /** Share of the responses that were left out of the loss. */
  readonly maskedShare: number;
}

/**
 * The clipped update of one policy (PPO, Schulman et al. 2017, or another objective) with a KL term against
 * `reference` and an entropy bonus, averaged over each mini-batch, however it is cut into passes.
 *
 * @param reference the frozen weights the KL is measured against; null for none
 * @param during runs each gradient and each step of the optimizer
 */
export async function updatePolicy(
  trainer: Trainer,
  reference: Model | HostReference | null,
  samples: readonly PolicySample[],
  options: PolicyUpdateOptions,
  adamw: AdamwNumbers,
  during: DuringPhase = unwatched,
): Promise<PolicyUpdateMetrics> {
  const { temperature, epochs } = options;
  const loss = lossOf(options, reference);
  const learned = new TokenMeans();
  const difference = new LogProbDifference(samples);
  let normSum = 0;
  let nonFinite = 0;
  const loads: ExpertLoad[] = [];
  const applied: boolean[] = [];
  const miniBatches = miniBatchesOf(samples, options.miniBatches).map(({ first, end }) => ({
    first,
    ...weighed(samples.slice(first, end), options),
  }));
  if (reference instanceof HostReference) {
    await during(
      "forward_backward",
      () => measureBy(reference, trainer, miniBatches, loss, temperature),
    );
  }
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (const { first, sequences, isNothing } of miniBatches) {
      const isOnPolicy = applied.length === 0;
      if (isOnPolicy) {
        const places = sequences.keys().filter((s) =>
          samples[first + s].isWatched && !changesGradient(loss, sequences[s])
        ).toArray();
        const watched = places.map((s) => sequences[s]);
        if (watched.length > 0) {
          difference.add(places.map((s) => first + s), await trainer.forward(watched, temperature));
        }
      }
      // Nothing to learn from: not even the weights' decay is applied.
      if (isNothing) continue;
      const { outputs } = await during(
        "forward_backward",
        () => trainer.forwardBackward(sequences, loss, temperature, { leavesOutIdle: true }),
      );
      learned.add(sequences, outputs);
      if (isOnPolicy) difference.add(sequences.map((_, s) => first + s), outputs);
      const result = await during("optimizer", () => trainer.optimStep(adamw));
      normSum += result.gradientNorm;
      nonFinite += result.nonFinite;
      if (result.expertLoad) loads.push(result.expertLoad);
      applied.push(result.nonFinite === 0);
    }
  }
  return {
    ...learned.means(),
    gradientNorm: normSum / Math.max(1, applied.length),
    nonFinite,
    applied,
    ...difference.measures(),
    expertLoad: loads.length === 0 ? null : {
      largest: Math.max(...loads.map(({ largest }) => largest)),
      unused: Math.max(...loads.map(({ unused }) => unused)),
    },
    maskedShare: samples.filter(({ isMasked }) => isMasked).length / Math.max(1, samples.length),
  };
}

function lossOf(
  options: PolicyUpdateOptions,
  reference: Model | HostReference | null,
): PolicyGradientLoss {
  const { objective, clipRatioLow, clipRatioHigh, klCoefficient, klEstimator, entropyCoefficient } =
    options;
  return {
    name: objective,
    clipRatioLow,
    clipRatioHigh,
    kl: reference && {
      coefficient: klCoefficient,
      estimator: klEstimator,
      reference: reference instanceof HostReference ? null : reference,
    },
    entropyCoefficient,
  };
}

/** Gives the sequences of all mini-batches their log-probs under the reference; zeros to those that are left out. */
async function measureBy(
  reference: HostReference,
  trainer: Trainer,
  miniBatches: readonly { sequences: SampledSequence[]; readonly isNothing: boolean }[],
  loss: PolicyGradientLoss,
  temperature: number,
): Promise<void> {
  const computed = miniBatches.flatMap(({ sequences, isNothing }) =>
    isNothing ? [] : sequences.filter((sequence) => changesGradient(loss, sequence))
  );
  const found = await reference.logProbs(trainer, computed, temperature);
  const logProbs = new Map(computed.map((sequence, i) => [sequence, found[i]]));
  for (const batch of miniBatches) {
    batch.sequences = batch.sequences.map((sequence) => ({
      ...sequence,
      refLogProbs: logProbs.get(sequence) ?? new Float32Array(sequence.weights.length),
    }));
  }
}

/** The samples of a mini-batch as the trainer takes them; `isNothing` when all of them are masked. */
function weighed(
  samples: readonly PolicySample[],
  { aggregation, maximumResponse }: PolicyUpdateOptions,
): { sequences: SampledSequence[]; readonly isNothing: boolean } {
  const weights = tokenWeights(
    samples.map(({ response: { length }, isMasked = false }) => ({ length, isMasked })),
    aggregation,
    maximumResponse,
  );
  const sequences = samples.map(({ prompt, response, oldLogProbs, advantages }, i) => ({
    ...promptedSequence(prompt, response),
    oldLogProbs,
    advantages,
    weights: new Float32Array(response.length).fill(weights?.[i] ?? 0),
  }));
  return { sequences, isNothing: weights === null };
}

/** Means over tokens, added up one after another in float64. */
class TokenMeans {
  #policyLoss = 0;
  #kl = 0;
  #entropy = 0;
  #clipped = 0;
  #ratio = 0;
  #computed = 0;
  #tokens = 0;

  add(
    sequences: readonly SampledSequence[],
    outputs: readonly (TokenOutputs & PolicyTerms)[],
  ): void {
    outputs.forEach(({ entropies, surrogates, kls, ratios, clipped }, s) => {
      const { weights } = sequences[s];
      this.#tokens += weights.reduce((count, weight) => weight === 0 ? count : count + 1, 0);
      for (let i = 0; i < surrogates.length; i++) {
        if (weights[i] === 0) continue;
        this.#policyLoss += surrogates[i];
        this.#kl += kls[i];
        this.#ratio += ratios[i];
        this.#clipped += clipped[i];
        this.#entropy += entropies[i];
        this.#computed++;
      }
    });
  }

  means() {
    const computed = Math.max(1, this.#computed);
    return {
      policyLoss: this.#policyLoss / Math.max(1, this.#tokens),
      kl: this.#kl / computed,
      entropy: this.#entropy / computed,
      clipRatio: this.#clipped / computed,
      ratioMean: this.#ratio / computed,
      tokens: this.#tokens,
    };
  }
}

/** How far the trainer's log-probs are from those of the rollout; 0 when both compute alike. */
class LogProbDifference {
  #max = 0;
  #sum = 0;
  #count = 0;
  readonly #watched = new Map<number, Float32Array>();

  constructor(private readonly samples: readonly PolicySample[]) {}

  /** @param places of the samples that the outputs are of; an empty output says nothing */
  add(places: readonly number[], outputs: readonly TokenOutputs[]): void {
    outputs.forEach(({ logProbs }, s) => {
      if (logProbs.length === 0) return;
      const { oldLogProbs, isWatched } = this.samples[places[s]];
      if (isWatched) this.#watched.set(places[s], logProbs.map((own, i) => own - oldLogProbs[i]));
      for (let i = 0; i < logProbs.length; i++) {
        const difference = Math.abs(logProbs[i] - oldLogProbs[i]);
        this.#max = Math.max(this.#max, difference);
        this.#sum += difference;
        this.#count++;
      }
    });
  }

  measures() {
    return {
      logProbDifferenceMax: this.#count === 0 ? null : this.#max,
      logProbDifferenceMean: this.#count === 0 ? null : this.#sum / this.#count,
      logProbDifferences: this.#watched,
    };
  }
}
