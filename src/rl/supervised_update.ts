import { gatherRows, scatterRows } from "../kernels/gather_rows.ts";
import { backward } from "../model/backward.ts";
import { forwardForTraining } from "../model/forward.ts";
import { headBackward, headForward } from "../model/head.ts";
import type { Model } from "../model/model.ts";
import type { Optimizer } from "../model/optimizer.ts";
import { packSequences } from "../model/packed_batch.ts";
import { cutByTokens } from "./micro_batches.ts";
import { responseRows } from "./prompt_groups.ts";

/** A prompt with the response to imitate. L response tokens. */
export interface SupervisedSample {
  readonly prompt: Uint32Array;
  /** [L] */
  readonly response: Uint32Array;
  /** [L] how much each token counts */
  readonly weights: Float32Array;
}

/** What one supervised step did. */
export interface SupervisedMetrics {
  /** Weighted mean cross-entropy of the response tokens, nats. */
  readonly loss: number;
  readonly gradientNorm: number;
  readonly nonFinite: number;
  readonly tokens: number;
}

/** One optimizer step on the weighted mean cross-entropy of all response tokens of the batch. */
export async function updateSupervised(
  model: Model,
  optimizer: Optimizer,
  samples: readonly SupervisedSample[],
  learningRate: number,
  microBatchTokens: number,
): Promise<SupervisedMetrics> {
  const { gpu } = model;
  const tokens = samples.reduce((sum, { response }) => sum + response.length, 0);
  const weightSum = samples.reduce(
    (sum, { weights }) => sum + weights.reduce((a, b) => a + b, 0),
    0,
  );
  const lengthOf = (s: SupervisedSample) => s.prompt.length + s.response.length;
  optimizer.zeroGradients();
  let loss = 0;
  const most = Math.min(microBatchTokens, model.tokensPerPass);
  for (const microBatch of cutByTokens(samples, lengthOf, most)) {
    const logProbs = gpu.scope(() => {
      const batch = packSequences(
        gpu,
        microBatch.map(({ prompt, response }) => Uint32Array.of(...prompt, ...response)),
      );
      const { rows, targets } = responseRows(microBatch, batch.sequenceEnds);
      const R = rows.length;
      const rowTensor = gpu.from(rows, [R], "u32", "response rows");
      const targetTensor = gpu.from(targets, [R], "u32", "targets");
      const activations = forwardForTraining(model, batch);
      const hidden = gpu.tensor([R, model.config.hiddenSize], "f32", "response hidden");
      gatherRows(gpu, activations.hidden, rowTensor, hidden);
      const head = headForward(model, hidden, targetTensor, 1);
      const gradient = microBatch.flatMap(({ weights }) =>
        Array.from(weights, (w) => -w / weightSum)
      );
      const logProbGradient = gpu.from(
        Float32Array.from(gradient),
        [R],
        "f32",
        "log-prob gradient",
      );
      const entropyGradient = gpu.zeros([R], "f32", "entropy gradient");
      const dHead = headBackward(
        model,
        hidden,
        targetTensor,
        1,
        head,
        logProbGradient,
        entropyGradient,
      );
      const dHidden = gpu.zeros(activations.hidden.shape, "f32", "hidden gradient");
      scatterRows(gpu, dHead, rowTensor, dHidden);
      backward(model, batch, activations, dHidden);
      return head.logProbs;
    }, (kept) => [kept]);
    const read = await gpu.readFloats(logProbs);
    gpu.release(logProbs);
    const weights = microBatch.flatMap((sample) => [...sample.weights]);
    weights.forEach((weight, i) => loss -= weight * read[i]);
  }
  const { gradientNorm, nonFinite } = await optimizer.update(learningRate);
  return { loss: loss / weightSum, gradientNorm, nonFinite, tokens };
}
