import type { Tensor } from "../gpu/tensor.ts";
import { gemm } from "../kernels/gemm.ts";
import {
  vocabularyBackward,
  vocabularyBlock,
  vocabularyFinish,
  vocabularyReduce,
  vocabularyState,
} from "../kernels/vocabulary.ts";
import type { Model } from "./model.ts";

/** Log-probabilities under softmax(logits · inverseTemperature). R rows. */
export interface HeadOutput {
  /** [R] of the target tokens */
  readonly logProbs: Tensor;
  /** [R] of the whole distribution, nats */
  readonly entropy: Tensor;
  /** [R] */
  readonly logSumExp: Tensor;
}

/** A chunk's logits take at most this many bytes. */
const chunkBytes = 32 * 2 ** 20;

interface Chunk {
  readonly firstColumn: number;
  readonly columns: number;
  /** Row stride of the chunk's logits, a multiple of 4. */
  readonly stride: number;
}

/** Cuts V columns so that [R, chunk] logits stay small; the results do not depend on the cut. */
function chunks(vocabularySize: number, rows: number): Chunk[] {
  const affordable = Math.floor(chunkBytes / (4 * rows) / vocabularyBlock) * vocabularyBlock;
  const width = Math.max(vocabularyBlock, affordable);
  const result: Chunk[] = [];
  for (let first = 0; first < vocabularySize; first += width) {
    const columns = Math.min(width, vocabularySize - first);
    result.push({ firstColumn: first, columns, stride: Math.ceil(columns / 4) * 4 });
  }
  return result;
}

/** The chunk's logits [R, stride]. */
function chunkLogits(
  model: Model,
  hidden: Tensor,
  { firstColumn, columns, stride }: Chunk,
): Tensor {
  const { gpu, head } = model;
  const [rows, width] = hidden.shape;
  const logits = gpu.tensor([rows, stride], "f32", "logits chunk");
  gemm(gpu, "nt", hidden, head.weight.view(firstColumn * width, [columns, width]), logits, {
    label: "head",
  });
  return logits;
}

/**
 * Log-probabilities and entropy without ever holding [R, V] logits.
 *
 * @param hidden [R, C]
 * @param targets u32 [R]
 */
export function headForward(
  model: Model,
  hidden: Tensor,
  targets: Tensor,
  inverseTemperature: number,
): HeadOutput {
  const { gpu, config } = model;
  const [rows] = hidden.shape;
  const output: HeadOutput = {
    logProbs: gpu.tensor([rows], "f32", "log-probs"),
    entropy: gpu.tensor([rows], "f32", "entropy"),
    logSumExp: gpu.tensor([rows], "f32", "log-sum-exp"),
  };
  gpu.scope(() => {
    const state = vocabularyState(gpu, rows);
    for (const chunk of chunks(config.vocabularySize, rows)) {
      gpu.scope(() => {
        const logits = chunkLogits(model, hidden, chunk);
        vocabularyReduce(gpu, { logits, ...chunk }, state, { targets, inverseTemperature });
      });
    }
    vocabularyFinish(gpu, state, { inverseTemperature }, output);
  });
  return output;
}

/**
 * The gradients of `headForward`: the head's weight gradient is added to.
 *
 * @param logProbGradient [R]
 * @param entropyGradient [R]
 * @returns the gradient of `hidden` [R, C]
 */
export function headBackward(
  model: Model,
  hidden: Tensor,
  targets: Tensor,
  inverseTemperature: number,
  { logSumExp, entropy }: HeadOutput,
  logProbGradient: Tensor,
  entropyGradient: Tensor,
): Tensor {
  const { gpu, config, head } = model;
  const [rows, width] = hidden.shape;
  const dHidden = gpu.zeros([rows, width], "f32", "hidden gradient");
  for (const chunk of chunks(config.vocabularySize, rows)) {
    gpu.scope(() => {
      const logits = chunkLogits(model, hidden, chunk);
      const rowTensors = { logSumExp, entropy, targets, logProbGradient, entropyGradient };
      vocabularyBackward(gpu, { logits, ...chunk }, rowTensors, logits, { inverseTemperature });
      const at = chunk.firstColumn * width;
      gemm(gpu, "nn", logits, head.weight.view(at, [chunk.columns, width]), dHidden, {
        label: "head input gradient",
        accumulate: true,
        depth: chunk.columns,
      });
      if (head.gradient) {
        const gradient = head.gradient.view(at, [chunk.columns, width]);
        gemm(gpu, "tn", logits, hidden, gradient, {
          label: "head weight gradient",
          accumulate: true,
        });
      }
    });
  }
  return dHidden;
}
