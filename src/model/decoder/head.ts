import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { capInPlace } from "../../kernels/layers/cap.ts";
import { gemm } from "../../kernels/products/gemm.ts";
import {
  logSoftmax,
  logSoftmaxBackward,
  logSoftmaxFinish,
  logSoftmaxState,
  vocabularyBlock,
} from "../../kernels/losses/log_softmax.ts";
import { largestOfRuns, type TokenRuns } from "../../kernels/products/token_runs.ts";
import type { Model } from "./model.ts";
import type { TableTileParameter } from "./parameters.ts";

/** Log-probabilities under softmax(logits · inverseTemperature). R rows. */
export interface HeadOutput {
  /** [R] of the target tokens */
  readonly logProbs: Tensor;
  /** [R] of the whole distribution, nats */
  readonly entropy: Tensor;
  /** [R] */
  readonly logSumExp: Tensor;
  /** Logits of each chunk, kept for `headBackward`, which overwrites and releases them. [R, its columns] */
  readonly logits?: readonly Tensor[];
}

/** A chunk's logits take at most this many bytes. */
const chunkBytes = 32 * 2 ** 20;

/** All logits of a pass that take at most this many bytes are kept, not computed again for the gradient. */
const keptBytes = 64 * 2 ** 20;

/** The most rows of a pass that keeps its logits for its gradient. */
export function keptRows(vocabularySize: number): number {
  return Math.floor(keptBytes / (4 * vocabularySize));
}

interface Chunk {
  readonly tile: TableTileParameter;
  readonly firstColumn: number;
  readonly columns: number;
  /** Row stride of the chunk's logits, a multiple of 4. */
  readonly stride: number;
}

/**
 * Columns of which matrix units sum the gradient of `hidden` at a time; null where sums are chains, which go on from
 * chunk to chunk. Each block has row scales of its own, so that blocks may not depend on the number of rows.
 */
function gradientBlock({ tuning }: Gpu): number | null {
  return tuning.matrix ? 2 * vocabularyBlock : null;
}

/** Cuts V columns so that [R, chunk] logits stay small; the results do not depend on the cut. */
function chunks({ gpu, head }: Model, rows: number): Chunk[] {
  const unit = gradientBlock(gpu) ?? vocabularyBlock;
  const affordable = Math.floor(chunkBytes / (4 * rows) / unit) * unit;
  const width = Math.max(unit, affordable);
  const result: Chunk[] = [];
  for (const tile of head) {
    const end = tile.firstRow + tile.weight.shape[0];
    for (let first = tile.firstRow; first < end; first += width) {
      const columns = Math.min(width, end - first);
      result.push({ tile, firstColumn: first, columns, stride: Math.ceil(columns / 4) * 4 });
    }
  }
  return result;
}

/** The chunk's logits [R, stride]. */
function chunkLogits(
  model: Model,
  hidden: Tensor,
  chunk: Chunk,
): Tensor {
  const { gpu } = model;
  const logits = gpu.tensor([hidden.shape[0], chunk.stride], "f32", "logits chunk");
  gemm(gpu, "nt", hidden, chunkOf(chunk.tile.weight, chunk), logits, { label: "head" });
  capLogits(model, logits);
  return logits;
}

function capLogits({ gpu, config: { caps } }: Model, logits: Tensor): void {
  if (caps.logits !== null) capInPlace(gpu, logits, caps.logits);
}

/** The rows of a tile's weights or gradients that make a chunk. */
function chunkOf(table: Tensor, { tile, firstColumn, columns }: Chunk): Tensor {
  const [, width] = table.shape;
  return table.view((firstColumn - tile.firstRow) * width, [columns, width]);
}

/**
 * All logits at once, for a few rows.
 *
 * @param hidden [R, C]
 * @returns [R, V, padded to a multiple of 4]
 */
export function headLogits(model: Model, hidden: Tensor): Tensor {
  const { gpu, head, config } = model;
  const stride = Math.ceil(config.vocabularySize / 4) * 4;
  const logits = gpu.tensor([hidden.shape[0], stride], "f32", "logits");
  for (const { firstRow, weight } of head) {
    gemm(gpu, "nt", hidden, weight, logits, { label: "head", firstColumn: firstRow });
  }
  capLogits(model, logits);
  return logits;
}

/**
 * Log-probabilities and entropy; [R, V] logits are held only where they are few.
 *
 * @param hidden [R, C]
 * @param targets u32 [R]
 * @param options forGradient: `headBackward` follows once, and may be left the logits
 */
export function headForward(
  model: Model,
  hidden: Tensor,
  targets: Tensor,
  inverseTemperature: number,
  { forGradient = false }: { readonly forGradient?: boolean } = {},
): HeadOutput {
  const { gpu } = model;
  const [rows] = hidden.shape;
  const keeps = forGradient && rows <= keptRows(model.config.vocabularySize);
  const output = {
    logProbs: gpu.tensor([rows], "f32", "log-probs"),
    entropy: gpu.tensor([rows], "f32", "entropy"),
    logSumExp: gpu.tensor([rows], "f32", "log-sum-exp"),
  };
  const kept = gpu.scope(() => {
    const state = logSoftmaxState(gpu, rows);
    const kept: Tensor[] = [];
    for (const chunk of chunks(model, rows)) {
      const logits = chunkLogits(model, hidden, chunk);
      logSoftmax(gpu, { logits, ...chunk }, state, { targets, inverseTemperature });
      if (keeps) kept.push(logits);
      else gpu.release(logits);
    }
    logSoftmaxFinish(gpu, state, { inverseTemperature }, output);
    return kept;
  }, (kept) => kept);
  return keeps ? { ...output, logits: kept } : output;
}

/**
 * The gradients of `headForward`: the head's weight gradient is added to.
 *
 * @param logProbGradient [R]
 * @param entropyGradient [R]
 * @param runs of the rows, where the device sums over them on matrix units
 * @returns the gradient of `hidden` [R, C]
 */
export function headBackward(
  model: Model,
  hidden: Tensor,
  targets: Tensor,
  inverseTemperature: number,
  { logSumExp, entropy, logits: kept }: HeadOutput,
  logProbGradient: Tensor,
  entropyGradient: Tensor,
  runs: TokenRuns | null,
): Tensor {
  const { gpu, head } = model;
  const [rows, width] = hidden.shape;
  const dHidden = gpu.zeros([rows, width], "f32", "hidden gradient");
  // A bound in place of the largest of each chunk, whose columns depend on the number of rows: of a logit's gradient
  // p - 1 or p is multiplied by the log-prob's, and p · (log p + H), less than 14, by the entropy's.
  const factors = runs && head.some(({ gradient }) => gradient) && {
    runs,
    largestA: largestOfRuns(gpu, runs, [logProbGradient, entropyGradient]),
    largestB: largestOfRuns(gpu, runs, [hidden]),
    headroom: 4 + Math.max(0, Math.ceil(Math.log2(inverseTemperature))),
  };
  chunks(model, rows).forEach((chunk, i) => {
    gpu.scope(() => {
      const logits = kept?.[i] ?? chunkLogits(model, hidden, chunk);
      const rowTensors = { logSumExp, entropy, targets, logProbGradient, entropyGradient };
      logSoftmaxBackward(gpu, { logits, ...chunk }, rowTensors, logits, {
        inverseTemperature,
        cap: model.config.caps.logits,
      });
      const block = gradientBlock(gpu) ?? chunk.columns;
      for (let first = 0; first < chunk.columns; first += block) {
        const columns = Math.min(block, chunk.columns - first);
        const part = { ...chunk, firstColumn: chunk.firstColumn + first, columns };
        gemm(gpu, "nn", logits, chunkOf(chunk.tile.weight, part), dHidden, {
          label: "head input gradient",
          accumulate: true,
          depth: columns,
          firstColumnOfA: first,
        });
      }
      const { gradient } = chunk.tile;
      if (gradient) {
        gemm(gpu, "tn", logits, hidden, chunkOf(gradient, chunk), {
          label: "head weight gradient",
          accumulate: true,
          runs: factors || null,
        });
      }
      gpu.release(logits);
    });
  });
  return dHidden;
}
