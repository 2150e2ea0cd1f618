import { forwardSequences, type PassOptions } from "../../engine/training/forward.ts";
import { oneReducer } from "../../engine/training/reducer.ts";
import { promptedSequence } from "../../engine/training/sequence.ts";
import type { Trainer } from "../../engine/training/trainer.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";
import {
  type FoundLogProbs,
  type LabelledTexts,
  lossWeights,
  type ScoredText,
} from "../reward/solution_score.ts";
import { type DuringPhase, unwatched } from "../schedule/step_phase.ts";

/** What computes with a reward model's weights on this rank. */
export interface ScoringEngine {
  readonly model: Model;
  /** Null for a frozen one. */
  readonly trainer: Trainer | null;
  /** The frozen weights that log-probs are taken less of; null without any. */
  readonly reference: Model | null;
}

/** How a reward model's log-probs are computed. */
export interface ScoringOptions {
  readonly passes: PassOptions;
  /** Whether log-probs are taken less those of the reference. */
  readonly hasReference: boolean;
}

/**
 * Log-probs of texts. The ranks that train the model share the work and call it together; of a frozen one each does all.
 */
export async function logProbsOf(
  { passes, hasReference }: ScoringOptions,
  { model, reference, trainer }: ScoringEngine,
  texts: readonly ScoredText[],
): Promise<FoundLogProbs> {
  const sequences = texts.map(({ prompt, response }) => promptedSequence(prompt, response));
  const under = async (weights: Model) => {
    const reducer = trainer?.reducer ?? oneReducer;
    const outputs = await forwardSequences(weights, sequences, passes, 1, reducer);
    return outputs.map(({ logProbs }) => logProbs);
  };
  if (hasReference && reference === null) throw new Error("the reward model has no reference");
  return {
    own: await under(model),
    reference: hasReference && reference ? await under(reference) : null,
  };
}

/** What an update of a reward model says of itself. */
export interface RewardModelUpdate {
  /** Weighted mean over the solutions of −log P(what is true), nats, each before the updates that it was learned in. */
  readonly loss: number;
  /** Mean over the optimizer steps. */
  readonly gradientNorm: number;
  /** Gradient elements that were NaN or infinite; their steps were skipped. */
  readonly nonFinite: number;
  /** Whether each optimizer step took effect. */
  readonly applied: readonly boolean[];
  /** Tokens whose log-probs the loss was made of. */
  readonly tokens: number;
}

/**
 * Updates a reward model by the binary cross-entropy of its P(right), one optimizer step for each mini-batch. With
 * r 1 for a right solution and 0 for a wrong one, the loss's derivative by a logit is P − r, and the logit is linear
 * in log-probs: so what is propagated is a cross-entropy whose weights are (r − P) · factor. P is of the weights that
 * the step changes.
 *
 * @param cut optimizer steps that a pass over the solutions is cut into, whole solutions each and fewer where there are
 *   fewer, and how many passes there are
 * @param during runs each gradient and each step of the optimizer
 */
export async function updateRewardModel(
  rewardModel: ScoringOptions,
  engine: ScoringEngine,
  solutions: readonly LabelledTexts[],
  { miniBatches, epochs }: { readonly miniBatches: number; readonly epochs: number },
  adamw: AdamwNumbers,
  during: DuringPhase = unwatched,
): Promise<RewardModelUpdate> {
  const { trainer } = engine;
  if (!trainer) throw new Error("a frozen reward model does not learn");
  const steps = Math.min(miniBatches, solutions.length);
  const all = epochs * steps;
  let loss = 0, weightOfAll = 0, normSum = 0, nonFinite = 0, tokens = 0;
  const applied: boolean[] = [];
  for (let taken = 0; taken < all; taken++) {
    const step = taken % steps;
    const batch = solutions.slice(
      Math.ceil(step * solutions.length / steps),
      Math.ceil((step + 1) * solutions.length / steps),
    );
    const texts = batch.flatMap((one) => one.texts);
    const weights = await during("forward_backward", async () => {
      const told = lossWeights(batch, await logProbsOf(rewardModel, engine, texts));
      const sequences = texts.map(({ prompt, response }, t) => ({
        ...promptedSequence(prompt, response),
        weights: new Float32Array(response.length).fill(told.weights[t]),
      }));
      await trainer.forwardBackward(sequences, { name: "cross_entropy" });
      return told;
    });
    const result = await during("optimizer", () => trainer.optimStep(adamw));
    loss += weights.loss;
    weightOfAll += weights.weight;
    tokens += texts.reduce((sum, { response }) => sum + response.length, 0);
    normSum += result.gradientNorm;
    nonFinite += result.nonFinite;
    applied.push(result.nonFinite === 0);
  }
  const gradientNorm = normSum / Math.max(1, all);
  return { loss: loss / weightOfAll, gradientNorm, nonFinite, applied, tokens };
}
