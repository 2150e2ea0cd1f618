import type { ParameterValue } from "../../gpu/recording/launch_parameters.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { likeliestTokens } from "../../kernels/likeliest.ts";
import { logSoftmax, logSoftmaxFinish, logSoftmaxState } from "../../kernels/log_softmax.ts";
import { headLogits } from "../../model/decoder/head.ts";
import type { Model } from "../../model/decoder/model.ts";

/** Where the likeliest tokens of rows go. */
export interface LikeliestOutput {
  /** u32 [≥ firstRow + R, K, 2] */
  readonly tensor: Tensor;
  readonly firstRow: ParameterValue;
  /** u32 [R], how many of each row are wanted */
  readonly counts: Tensor;
}

/**
 * Logits of a few rows and what is said of them, with the bits that training gives them. Call inside a
 * `gpu.scope`.
 *
 * @param hidden [R, C] after the last norm
 * @param of targets u32 [R], of which log-probs are wanted (any, where none are); inverseTemperature [R]
 * @returns logits [R, V, padded], logProbs [R] of the targets and logSumExp [R]
 */
export function rowStatistics(
  model: Model,
  hidden: Tensor,
  { targets, inverseTemperature, likeliest }: {
    readonly targets: Tensor;
    readonly inverseTemperature: Tensor;
    readonly likeliest: LikeliestOutput | null;
  },
): { readonly logits: Tensor; readonly logProbs: Tensor; readonly logSumExp: Tensor } {
  const { gpu, config: { vocabularySize: columns } } = model;
  const [rows] = hidden.shape;
  const vector = (label: string) => gpu.tensor([rows], "f32", label);
  const logits = headLogits(model, hidden);
  const state = logSoftmaxState(gpu, rows);
  const chunk = { logits, firstColumn: 0, columns };
  logSoftmax(gpu, chunk, state, { targets, inverseTemperature });
  const logProbs = vector("log-probs");
  const logSumExp = vector("log-sum-exp");
  const outputs = { logProbs, entropy: vector("unused entropy"), logSumExp };
  logSoftmaxFinish(gpu, state, { inverseTemperature }, outputs);
  if (likeliest) {
    const { tensor, firstRow, counts } = likeliest;
    const inputs = { logits, logSumExp, inverseTemperature, counts };
    likeliestTokens(gpu, inputs, tensor, { columns, firstRow });
  }
  return { logits, logProbs, logSumExp };
}
