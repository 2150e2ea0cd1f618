import type { Gpu } from "../../gpu/gpu.ts";
import { parameterAt, type ParameterValue } from "../../gpu/recording/launch_parameters.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import likeliestCode from "./likeliest.wgsl" with { type: "text" };
import { type VocabularyLanes, vocabularyLanes } from "../losses/log_softmax.ts";
import { composeSampling } from "./parts/compose.ts";

const code = composeSampling(likeliestCode);

/**
 * The likeliest tokens of each row and their log-probs, the likeliest first, of those that tie the lowest
 * first. A log-prob has the bits that `logSoftmaxFinish` gives for the token.
 *
 * @param inputs logits [R, stride], rows of V columns and padding; logSumExp [R] of the scaled logits;
 *   scales [R, 2] of `rowScales`; counts u32 [R], how many of each row are wanted
 * @param likeliest u32 [≥ firstRow + R, K, 2], from row `firstRow` on: the token and the bits of its log-prob;
 *   places beyond a row's count keep what they hold
 * @param options columns: V, at least K; lanes: overrides the choice by device
 * @throws Error when the shapes do not fit
 */
export function likeliestTokens(
  gpu: Gpu,
  inputs: {
    readonly logits: Tensor;
    readonly logSumExp: Tensor;
    readonly scales: Tensor;
    readonly counts: Tensor;
  },
  likeliest: Tensor,
  options: {
    readonly columns: number;
    readonly firstRow: ParameterValue;
    readonly lanes?: VocabularyLanes;
  },
): void {
  const { columns, firstRow, lanes = vocabularyLanes(gpu) } = options;
  const { logits, logSumExp, scales, counts } = inputs;
  const [rows, stride] = logits.shape;
  const [outputRows, most] = likeliest.shape;
  const operation = "likeliestTokens";
  expectShape(operation, "logits", logits, [-1, -1]);
  expectVectors(operation, "a row of logits", stride);
  expectShape(operation, "logSumExp", logSumExp, [rows]);
  expectShape(operation, "scales", scales, [rows, 2]);
  expectShape(operation, "counts", counts, [rows], "u32");
  expectShape(operation, "likeliest", likeliest, [-1, -1, 2], "u32");
  if (columns > stride || most > columns || parameterAt(firstRow, 0) + rows > outputRows) {
    throw new Error(
      `${operation}: rows ${
        parameterAt(firstRow, 0)
      } + ${rows} of ${most} out of ${columns} columns, expected at ` +
        `most ${outputRows} rows, ${columns} places and ${stride} columns`,
    );
  }
  gpu.dispatch(
    { label: "likeliest", code, defines: { LANES: lanes } },
    { rows, columns, stride, firstRow, most },
    { logits, logSumExp, scales, counts, likeliest },
    gpu.grid(lanes === 1 ? Math.ceil(rows / 8) : rows),
    { bytes: most * logits.bytes },
  );
}
