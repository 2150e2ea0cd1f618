import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { independentLanes, lanesOfRow } from "../../gpu/tuning.ts";
import { UserError } from "../../base/user_error.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import backwardText from "./log_softmax_backward.wgsl" with { type: "text" };
import finishText from "./log_softmax_finish.wgsl" with { type: "text" };
import chunkText from "./log_softmax.wgsl" with { type: "text" };
import { compose } from "../parts/compose.ts";

const chunkCode = compose(chunkText);
const finishCode = compose(finishText);
const backwardCode = compose(backwardText);

/**
 * Log-prob and entropy over the vocabulary without the full logits [R, V]: the caller makes chunks of
 * columns [R, stride] one after another; each is reduced into a small running state.
 */

/** Chunks of the vocabulary begin at multiples of this many columns. */
export const vocabularyBlock = 1024;

/** Lanes that share a row. Both give the same bits; one is best on the lanes of a CPU core. */
export type VocabularyLanes = 1 | 128;

/** The number of lanes per row that suits the device. */
export function vocabularyLanes(gpu: Gpu): VocabularyLanes {
  return lanesOfRow(gpu.tuning, 128);
}

/** One chunk of columns of the vocabulary. */
export interface VocabularyChunk {
  /** [R, stride]: stride a multiple of 4; what lies beyond `columns` is ignored. */
  readonly logits: Tensor;
  /** Where the chunk begins in the vocabulary, a multiple of `vocabularyBlock`. */
  readonly firstColumn: number;
  /** Columns of the chunk. */
  readonly columns: number;
}

/**
 * What logits are multiplied by. Temperature 0 means greedy decoding, whose log-probs are those of the
 * unscaled distribution.
 *
 * @throws UserError when the temperature is negative or not a number
 */
export function inverseTemperature(temperature: number): number {
  if (!(temperature >= 0) || !Number.isFinite(temperature)) {
    throw new UserError(`temperature: found ${temperature}, expected a number from 0 up`);
  }
  return temperature === 0 ? 1 : 1 / temperature;
}

function checkChunk(operation: string, chunk: VocabularyChunk, rows: number): number {
  const { logits, firstColumn, columns } = chunk;
  expectShape(operation, "logits", logits, [rows, -1]);
  const stride = logits.shape[1];
  expectVectors(operation, "a row of logits", stride);
  if (columns < 1 || columns > stride || firstColumn % vocabularyBlock !== 0) {
    throw new Error(
      `${operation}: columns ${firstColumn} + ${columns} in rows of ${stride}, expected 1 to ` +
        `${stride} columns from a multiple of ${vocabularyBlock}`,
    );
  }
  return stride;
}

/**
 * What logits are multiplied by: one number for all rows, or f32 [R, 2] of `rowScales` with one for each. Both give a
 * row the same bits.
 */
export type RowScale = number | Tensor;

/**
 * The inverse temperatures of rows as kernels take them: each is followed by itself times log2 e, the scale of the
 * exponents of 2. A kernel that multiplied them itself would leave it to the compiler in which order it multiplies.
 */
export function rowScales(inverseTemperatures: ArrayLike<number>): Float32Array<ArrayBuffer> {
  const scales = new Float32Array(2 * inverseTemperatures.length);
  for (let row = 0; row < inverseTemperatures.length; row++) {
    scales[2 * row] = inverseTemperatures[row];
    scales[2 * row + 1] = exponentScale(inverseTemperatures[row]);
  }
  return scales;
}

/** The factor of exponents of 2, from the inverse temperature in f32: the same from one in 64 bits or in 32. */
const exponentScale = (inverseTemperature: number) => Math.fround(inverseTemperature) * Math.LOG2E;

/** A scale as a kernel takes it: the uniform it reads of the two, or a binding with PER_ROW. */
function scaleArguments(
  operation: string,
  scale: RowScale,
  rows: number,
  uniform: "inverseTemperature" | "exponentScale",
): {
  readonly PER_ROW: boolean;
  readonly uniform: Readonly<Record<string, number>>;
  readonly binding: Readonly<Record<string, Tensor>>;
} {
  if (typeof scale === "number") {
    const value = uniform === "exponentScale" ? exponentScale(scale) : scale;
    return { PER_ROW: false, uniform: { [uniform]: value }, binding: {} };
  }
  expectShape(operation, "scales", scale, [rows, 2]);
  return { PER_ROW: true, uniform: {}, binding: { scales: scale } };
}

/** The state of `logSoftmax` for R rows: f32 [R, 4]. The first chunk initialises it. */
export function logSoftmaxState(gpu: Gpu, rows: number): Tensor {
  return gpu.tensor([rows, 4], "f32", "log-softmax state");
}

/**
 * Adds one chunk of logits to the running statistics of each row (online softmax, arXiv 1805.02867).
 * Chunks come in ascending order and the chunk at column 0 starts the state. A row's result has the
 * same bits for any cut into chunks and any other rows beside it.
 *
 * @param state [R, 4] from `logSoftmaxState`
 * @param targets u32 [R], columns of the vocabulary. One outside it gives a log-prob without meaning:
 *   rows that have no target yet (decoding) or are masked may hold anything
 * @throws Error when the shapes do not fit
 */
export function logSoftmax(
  gpu: Gpu,
  chunk: VocabularyChunk,
  state: Tensor,
  options: {
    readonly targets: Tensor;
    readonly inverseTemperature: RowScale;
    /** Overrides the choice by device. */
    readonly lanes?: VocabularyLanes;
  },
): void {
  const { targets, inverseTemperature, lanes = vocabularyLanes(gpu) } = options;
  const rows = state.shape[0];
  expectShape("logSoftmax", "state", state, [rows, 4]);
  expectShape("logSoftmax", "targets", targets, [rows], "u32");
  const stride = checkChunk("logSoftmax", chunk, rows);
  const { logits, firstColumn, columns } = chunk;
  const scale = scaleArguments("logSoftmax", inverseTemperature, rows, "exponentScale");
  gpu.dispatch(
    {
      label: "log-softmax",
      code: chunkCode,
      defines: { LANES: lanes, PER_ROW: scale.PER_ROW, BLOCKS: false },
    },
    { rows, columns, stride, firstColumn, ...scale.uniform },
    { logits, targets, state, ...scale.binding },
    gpu.grid(lanes === 1 ? Math.ceil(rows / 8) : rows),
  );
}

/** Blocks of `vocabularyBlock` columns. */
export const blocksOf = (columns: number): number => Math.ceil(columns / vocabularyBlock);

/**
 * The statistics that `logSoftmax` merges, of every block of all columns, computed side by side.
 *
 * @param logits [R, stride], rows of V columns and padding
 * @param options columns: V; scales [R, 2] of `rowScales`; lanes: overrides the choice by device
 * @returns f32 [R, blocks, 2]: a block's largest logit m, and the sum of its exp((logit - m) / temperature)
 * @throws Error when the shapes do not fit
 */
export function logSoftmaxBlocks(
  gpu: Gpu,
  logits: Tensor,
  options: {
    readonly columns: number;
    readonly scales: Tensor;
    readonly lanes?: VocabularyLanes;
  },
): Tensor {
  const { columns, scales, lanes = vocabularyLanes(gpu) } = options;
  const operation = "logSoftmaxBlocks";
  const [rows] = logits.shape;
  const stride = checkChunk(operation, { logits, firstColumn: 0, columns }, rows);
  expectShape(operation, "scales", scales, [rows, 2]);
  const count = blocksOf(columns);
  const blocks = gpu.tensor([rows, count, 2], "f32", "softmax blocks");
  gpu.dispatch(
    {
      label: "log-softmax blocks",
      code: chunkCode,
      defines: { LANES: lanes, PER_ROW: true, BLOCKS: true },
    },
    { rows, columns, stride },
    { logits, blocks, scales },
    gpu.grid(lanes === 1 ? Math.ceil(rows * count / 8) : rows * Math.ceil(count / 4)),
  );
  return blocks;
}

/**
 * Turns the statistics of all chunks into results, all [R] and in nats: the targets' log-probs, the
 * entropy, and the log-sum-exp of the scaled logits, which the backward pass and sampling take.
 *
 * @throws Error when the shapes do not fit
 */
export function logSoftmaxFinish(
  gpu: Gpu,
  state: Tensor,
  options: { readonly inverseTemperature: RowScale },
  outputs: { readonly logProbs: Tensor; readonly entropy: Tensor; readonly logSumExp: Tensor },
): void {
  const rows = state.shape[0];
  for (const [name, tensor] of Object.entries(outputs)) {
    expectShape("logSoftmaxFinish", name, tensor, [rows]);
  }
  const { logProbs, entropy, logSumExp } = outputs;
  const scale = scaleArguments(
    "logSoftmaxFinish",
    options.inverseTemperature,
    rows,
    "inverseTemperature",
  );
  gpu.dispatch(
    { label: "log-softmax finish", code: finishCode, defines: { PER_ROW: scale.PER_ROW } },
    { rows, ...scale.uniform },
    { state, logProbs, entropy, logSumExp, ...scale.binding },
    gpu.grid(Math.ceil(rows / 64)),
  );
}

/**
 * The gradient of one chunk of logits, made again as in the forward pass:
 * gLogProb · (onehot − p) − gEntropy · p · (log p + H), times the inverse temperature.
 *
 * @param rowTensors all [R]: what the forward pass gave, and the loss's gradients
 * @param logitsGradient [R, stride], may be the chunk's logits; padding columns receive 0
 * @throws Error when the shapes do not fit
 */
export function logSoftmaxBackward(
  gpu: Gpu,
  chunk: VocabularyChunk,
  rowTensors: {
    readonly logSumExp: Tensor;
    readonly entropy: Tensor;
    /** u32 */
    readonly targets: Tensor;
    readonly logProbGradient: Tensor;
    readonly entropyGradient: Tensor;
  },
  logitsGradient: Tensor,
  options: {
    readonly inverseTemperature: number;
    /** What the logits were capped at, see `capInPlace`; the gradient is that of what was capped. */
    readonly cap?: number | null;
  },
): void {
  const rows = chunk.logits.shape[0];
  const stride = checkChunk("logSoftmaxBackward", chunk, rows);
  for (const [name, tensor] of Object.entries(rowTensors)) {
    expectShape("logSoftmaxBackward", name, tensor, [rows], name === "targets" ? "u32" : "f32");
  }
  expectShape("logSoftmaxBackward", "logitsGradient", logitsGradient, [rows, stride]);
  const { logits, firstColumn, columns } = chunk;
  const IN_PLACE = logits.storage.id === logitsGradient.storage.id;
  if (IN_PLACE && logits.byteOffset !== logitsGradient.byteOffset) {
    throw new Error("logSoftmaxBackward: logits and their gradient are two views of one buffer");
  }
  const WORKGROUP = independentLanes(gpu.tuning);
  const { inverseTemperature, cap = null } = options;
  const CAP = cap !== null;
  const { logSumExp, entropy, targets, logProbGradient, entropyGradient } = rowTensors;
  const perRow = { logSumExp, entropy, targets, logProbGradient, entropyGradient };
  const groups = Math.ceil(rows / 8);
  const y = Math.min(groups, 65535);
  gpu.dispatch(
    { label: "log-softmax backward", code: backwardCode, defines: { IN_PLACE, WORKGROUP, CAP } },
    { rows, columns, stride, firstColumn, inverseTemperature, ...(CAP && { inverseCap: 1 / cap }) },
    IN_PLACE ? { ...perRow, logitsGradient } : { ...perRow, logits, logitsGradient },
    [Math.ceil(stride / (4 * WORKGROUP)), y, Math.ceil(groups / y)],
  );
}
