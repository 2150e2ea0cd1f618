/** Whether a policy still computes with numbers: an update of too large a learning rate ruins its weights. */

import { forwardSequences } from "../engine/training/forward.ts";
import { promptedSequence } from "../engine/training/sequence.ts";
import type { RolloutResponse } from "../engine/sampling/rollout.ts";
import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { gradientNorm } from "../kernels/optimizer/gradient_norm.ts";
import { unpackHalves } from "../kernels/products/unpack.ts";
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
  for (const weights of model.trainable?.weights ?? []) {
    if (!await hasFiniteNorm(model.gpu, weights)) return false;
  }
  const sequences = [promptedSequence(prompt, response)];
  const passes = { microBatchTokens: prompt.length + response.length, sharePrompts: false };
  const [{ logProbs }] = await forwardSequences(model, sequences, passes);
  return logProbs.every(Number.isFinite);
}

/** Weights in 16 bits that are looked at together, as f32. */
const mostUnpacked = 2 ** 24;

/** Whether the norm of flat weights is a number. */
async function hasFiniteNorm(gpu: Gpu, weights: Tensor): Promise<boolean> {
  const most = weights.dtype === "f32" ? weights.size : mostUnpacked;
  for (let first = 0; first < weights.size; first += most) {
    const part = weights.view(first, [Math.min(most, weights.size - first)]);
    const nonFinite = gpu.scope(() => {
      const norm = gpu.tensor([1], "f32", "weight norm");
      const clipScale = gpu.tensor([1], "f32", "unused clip scale");
      const nonFinite = gpu.tensor([1], "u32", "non-finite weights");
      gradientNorm(gpu, [asFloats(gpu, part)], { norm, clipScale, nonFinite }, Infinity);
      return nonFinite;
    }, (kept) => [kept]);
    const [[count]] = await gpu.readAll([nonFinite]);
    gpu.release(nonFinite);
    if (count > 0) return false;
  }
  return true;
}

function asFloats(gpu: Gpu, weights: Tensor): Tensor {
  if (weights.dtype === "f32") return weights;
  const floats = gpu.tensor(weights.shape, "f32", "weights");
  unpackHalves(gpu, weights, floats);
  return floats;
}
