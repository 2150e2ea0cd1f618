/** Whether a policy still computes with numbers: an update of too large a learning rate ruins its weights. */

import { forwardSequences } from "../engine/training/forward.ts";
import { promptedSequence } from "../engine/training/sequence.ts";
import type { RolloutResponse } from "../engine/sampling/rollout.ts";
import { gradientNorm } from "../kernels/optimizer/gradient_norm.ts";
import type { Model } from "../model/decoder/model.ts";
import type { PolicyName } from "./policy.ts";

/** A prompt and what a policy answered. */
export interface Answered {
  readonly prompt: Uint32Array;
  /** [L] */
  readonly response: Uint32Array;
}

type Responses = readonly { readonly rollout: RolloutResponse }[];

/** A policy that sampled with log-probs that are not finite, if there is one. */
export function findUnsound(solutions: Responses, critiques: Responses): PolicyName | null {
  const isFinite = (responses: Responses) =>
    responses.every(({ rollout: { logProbs } }) => logProbs.every(Number.isFinite));
  if (!isFinite(solutions)) return "generator";
  return isFinite(critiques) ? null : "verifier";
}

/**
 * Whether a model may be kept: the norm of its trained weights is a number, and so are its log-probs of an
 * answer.
 *
 * @param answered an answer of at least one token, within the model's positions
 */
export async function isSound(model: Model, { prompt, response }: Answered): Promise<boolean> {
  const { gpu } = model;
  const nonFinite = gpu.scope(() => {
    const norm = gpu.tensor([1], "f32", "weight norm");
    const clipScale = gpu.tensor([1], "f32", "unused clip scale");
    const nonFinite = gpu.tensor([1], "u32", "non-finite weights");
    const weights = model.trainable?.weights ?? [];
    gradientNorm(gpu, weights, { norm, clipScale, nonFinite }, Infinity);
    return nonFinite;
  }, (kept) => [kept]);
  const [[count]] = await gpu.readAll([nonFinite]);
  gpu.release(nonFinite);
  if (count > 0) return false;
  const sequences = [promptedSequence(prompt, response)];
  const passes = { microBatchTokens: prompt.length + response.length, sharePrompts: false };
  const [{ logProbs }] = await forwardSequences(model, sequences, passes);
  return logProbs.every(Number.isFinite);
}
