import type { TokenOutputs } from "../../engine/training/losses.ts";
import { promptedSequence } from "../../engine/training/sequence.ts";
import type { Trainer } from "../../engine/training/trainer.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";
import { type DuringPhase, unwatched } from "../schedule/step_phase.ts";

/** A prompt with the response to imitate. L response tokens. */
export interface SupervisedSample {
  readonly prompt: Uint32Array;
  /** [L] */
  readonly response: Uint32Array;
  /** [L] how much each token counts */
  readonly weights: Float32Array;
}

/** Metrics of a supervised step. */
export interface SupervisedMetrics {
  /** Weighted mean cross-entropy of the response tokens, nats. */
  readonly loss: number;
  readonly gradientNorm: number;
  readonly nonFinite: number;
  readonly tokens: number;
}

/** The weighted mean cross-entropy of all response tokens, nats; nothing is updated. */
export async function supervisedLoss(
  trainer: Pick<Trainer, "forward">,
  samples: readonly SupervisedSample[],
): Promise<number> {
  const sequences = samples.map(({ prompt, response }) => promptedSequence(prompt, response));
  return meanLoss(samples, await trainer.forward(sequences));
}

/**
 * One optimizer step on the weighted mean cross-entropy of all response tokens of the batch.
 *
 * @param during runs the gradient and the step of the optimizer
 */
export async function updateSupervised(
  trainer: Trainer,
  samples: readonly SupervisedSample[],
  adamw: AdamwNumbers,
  during: DuringPhase = unwatched,
): Promise<SupervisedMetrics> {
  const weight = weightOf(samples);
  const sequences = samples.map(({ prompt, response, weights }) => ({
    ...promptedSequence(prompt, response),
    weights: weights.map((own) => own / weight),
  }));
  const { outputs } = await during(
    "forward_backward",
    () => trainer.forwardBackward(sequences, { name: "cross_entropy" }),
  );
  const { gradientNorm, nonFinite } = await during("optimizer", () => trainer.optimStep(adamw));
  const tokens = samples.reduce((sum, { response }) => sum + response.length, 0);
  return { loss: meanLoss(samples, outputs), gradientNorm, nonFinite, tokens };
}

function weightOf(samples: readonly SupervisedSample[]): number {
  return samples.reduce((sum, { weights }) => sum + weights.reduce((a, b) => a + b, 0), 0);
}

/** In float64, with the weights as they were given. */
function meanLoss(
  samples: readonly SupervisedSample[],
  outputs: readonly TokenOutputs[],
): number {
  let sum = 0;
  samples.forEach(({ weights }, s) => {
    outputs[s].logProbs.forEach((logProb, i) => sum -= weights[i] * logProb);
  });
  return sum / weightOf(samples);
}
