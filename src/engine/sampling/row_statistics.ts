import type { ParameterValue } from "../../gpu/recording/launch_parameters.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { likeliestTokens } from "../../kernels/sampling/likeliest.ts";
import { logSoftmax, logSoftmaxFinish, logSoftmaxState } from "../../kernels/losses/log_softmax.ts";
import type { Model } from "../../model/decoder/model.ts";

/** Where to write the likeliest tokens of rows. */
export interface LikeliestOutput {
  /** u32 [≥ firstRow + R, K, 2] */
  readonly tensor: Tensor;
  readonly firstRow: ParameterValue;
  /** u32 [R], how many of each row are wanted */
  readonly counts: Tensor;
}

/**
 * Log-probs and likeliest tokens from the logits of a few rows, with the bits that training gives them. Call inside a
 * `gpu.scope`.
 *
 * @param logits [R, V, padded] of `headLogits`
 * @param of targets u32 [R], of which log-probs are wanted (any, where none are); scales [R, 2] of `rowScales`
 * @returns log-probs [R] of the targets
 */
export function rowStatistics(
  model: Model,
  logits: Tensor,
  { targets, scales, likeliest }: {
    readonly targets: Tensor;
    readonly scales: Tensor;
    readonly likeliest: LikeliestOutput | null;
  },
): Tensor {
  const { gpu, config: { vocabularySize: columns } } = model;
  const [rows] = logits.shape;
  const vector = (label: string) => gpu.tensor([rows], "f32", label);
  const state = logSoftmaxState(gpu, rows);
  const chunk = { logits, firstColumn: 0, columns };
  logSoftmax(gpu, chunk, state, { targets, inverseTemperature: scales });
  const logProbs = vector("log-probs");
  const logSumExp = vector("log-sum-exp");
  const outputs = { logProbs, entropy: vector("unused entropy"), logSumExp };
  logSoftmaxFinish(gpu, state, { inverseTemperature: scales }, outputs);
  if (likeliest) {
    const { tensor, firstRow, counts } = likeliest;
    const inputs = { logits, logSumExp, scales, counts };
    likeliestTokens(gpu, inputs, tensor, { columns, firstRow });
  }
  return logProbs;
}
