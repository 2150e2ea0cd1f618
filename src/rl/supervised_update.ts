import { UserError } from "../base/user_error.ts";
import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { gatherRows, scatterRows } from "../kernels/gather_rows.ts";
import { backward } from "../model/decoder/backward.ts";
import { forwardForTraining, forwardOnly } from "../model/decoder/forward.ts";
import { headBackward, headForward } from "../model/decoder/head.ts";
import type { Model } from "../model/decoder/model.ts";
import type { Optimizer } from "../model/decoder/optimizer.ts";
import { packSequences } from "../model/decoder/packed_batch.ts";
import { cutByTokens } from "../engine/micro_batches.ts";
import { responseRows } from "../engine/prompt_groups.ts";

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

/** How a batch is cut into forward and backward passes; the cut does not show in the result. */
export interface SupervisedPassOptions {
  /** Tokens of one pass. */
  readonly microBatchTokens: number;
  /** Keeps each layer's input alone for the backward pass, which computes the rest again. */
  readonly gradientCheckpointing: boolean;
}

const lengthOf = ({ prompt, response }: SupervisedSample) => prompt.length + response.length;

const weightOf = (samples: readonly SupervisedSample[]) =>
  samples.reduce((sum, { weights }) => sum + weights.reduce((a, b) => a + b, 0), 0);

/** The response rows of some samples in a packed batch, R of them. */
function packResponses({ gpu, config }: Model, samples: readonly SupervisedSample[]) {
  const sequences = samples.map(({ prompt, response }) => Uint32Array.of(...prompt, ...response));
  const longest = Math.max(...sequences.map(({ length }) => length));
  if (longest > config.maxPositions) {
    throw new UserError(
      `An example has ${longest} tokens and the model ${config.maxPositions} positions; take shorter ` +
        `examples or a model with more.`,
    );
  }
  const batch = packSequences(gpu, sequences);
  const { rows, targets } = responseRows(samples, batch.sequenceEnds);
  const R = rows.length;
  return {
    batch,
    R,
    rows: gpu.from(rows, [R], "u32", "response rows"),
    targets: gpu.from(targets, [R], "u32", "targets"),
  };
}

/** Log-probs of the targets, and what they were made of. */
function responseHead(
  model: Model,
  hidden: Tensor,
  { R, rows, targets }: ReturnType<typeof packResponses>,
) {
  const gathered = model.gpu.tensor([R, model.config.hiddenSize], "f32", "response hidden");
  gatherRows(model.gpu, hidden, rows, gathered);
  return { gathered, head: headForward(model, gathered, targets, 1) };
}

/** Reads the log-probs of a pass. @returns their weighted sum, negated */
async function readLoss(
  gpu: Gpu,
  logProbs: Tensor,
  samples: readonly SupervisedSample[],
): Promise<number> {
  const read = await gpu.readFloats(logProbs);
  gpu.release(logProbs);
  const weights = samples.flatMap((sample) => [...sample.weights]);
  return -weights.reduce((sum, weight, i) => sum + weight * read[i], 0);
}

/** The weighted mean cross-entropy of all response tokens, nats; nothing is updated. */
export async function supervisedLoss(
  model: Model,
  samples: readonly SupervisedSample[],
  microBatchTokens: number,
): Promise<number> {
  const { gpu } = model;
  let loss = 0;
  const most = Math.min(microBatchTokens, model.tokensPerPass);
  for (const microBatch of cutByTokens(samples, lengthOf, most)) {
    const logProbs = gpu.scope(() => {
      const packed = packResponses(model, microBatch);
      return responseHead(model, forwardOnly(model, packed.batch), packed).head.logProbs;
    }, (kept) => [kept]);
    loss += await readLoss(gpu, logProbs, microBatch);
  }
  return loss / weightOf(samples);
}

/** One optimizer step on the weighted mean cross-entropy of all response tokens of the batch. */
export async function updateSupervised(
  model: Model,
  optimizer: Optimizer,
  samples: readonly SupervisedSample[],
  learningRate: number,
  { microBatchTokens, gradientCheckpointing }: SupervisedPassOptions,
): Promise<SupervisedMetrics> {
  const { gpu } = model;
  const tokens = samples.reduce((sum, { response }) => sum + response.length, 0);
  const weightSum = weightOf(samples);
  optimizer.zeroGradients();
  let loss = 0;
  const most = Math.min(microBatchTokens, model.tokensPerPass);
  for (const microBatch of cutByTokens(samples, lengthOf, most)) {
    const logProbs = gpu.scope(() => {
      const packed = packResponses(model, microBatch);
      const { batch, R, rows, targets } = packed;
      const activations = forwardForTraining(model, batch, gradientCheckpointing);
      const { gathered, head } = responseHead(model, activations.hidden, packed);
      const gradient = Float32Array.from(
        microBatch.flatMap(({ weights }) => Array.from(weights, (w) => -w / weightSum)),
      );
      const dHead = headBackward(
        model,
        gathered,
        targets,
        1,
        head,
        gpu.from(gradient, [R], "f32", "log-prob gradient"),
        gpu.zeros([R], "f32", "entropy gradient"),
      );
      const dHidden = gpu.zeros(activations.hidden.shape, "f32", "hidden gradient");
      scatterRows(gpu, dHead, rows, dHidden);
      backward(model, batch, activations, dHidden);
      return head.logProbs;
    }, (kept) => [kept]);
    loss += await readLoss(gpu, logProbs, microBatch);
  }
  const { gradientNorm, nonFinite } = await optimizer.update(learningRate);
  return { loss: loss / weightSum, gradientNorm, nonFinite, tokens };
}
