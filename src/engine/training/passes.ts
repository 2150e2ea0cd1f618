/** GPU work of one pass over some sequences. The caller opens the scope. */

import type { Tensor } from "../../gpu/tensor.ts";
import type { TableTile } from "../../kernels/layers/embedding.ts";
import { gatherRows, scatterRows } from "../../kernels/layers/gather_rows.ts";
import { tokenRuns } from "../../kernels/products/token_runs.ts";
import { backward } from "../../model/decoder/backward.ts";
import { forwardForTraining, forwardOnly } from "../../model/decoder/forward.ts";
import { headBackward, headForward, type HeadOutput } from "../../model/decoder/head.ts";
import type { ExpertLoads } from "../../model/decoder/expert_loads.ts";
import type { Model } from "../../model/decoder/model.ts";
import { type PackedBatch, packPrefixGroups } from "../../model/decoder/packed_batch.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { LossGradient } from "./loss_gradient.ts";
import { predictingRows, promptPrefixGroup, runStarts } from "./prompt_groups.ts";
import type { TrainingSequence } from "./sequence.ts";

/** The sequences of a pass. T tokens, R predictions. */
export interface PassInput {
  readonly batch: PackedBatch;
  /** u32 [R] the rows that predict, in the order of the sequences */
  readonly rows: Tensor;
  /** u32 [R] what they predict */
  readonly targets: Tensor;
  /** Where prompts begin and what follows them, and in `rows` what each sequence predicts. */
  readonly runStarts: {
    readonly tokens: readonly number[];
    readonly predictions: readonly number[];
  };
}

/**
 * Records work on the GPU step by step.
 *
 * @param between called between two steps with what the first of them yielded
 * @returns what the last step returned, the caller's to release
 */
export async function gpuSteps<Yielded>(
  gpu: Gpu,
  steps: Iterator<Yielded, Tensor[]>,
  between?: (yielded: Yielded) => Promise<void>,
): Promise<Tensor[]> {
  using scope = gpu.steps();
  for (;;) {
    const step = scope.run(() => steps.next());
    if (step.done) {
      scope.keep(step.value);
      return step.value;
    }
    await between?.(step.value);
  }
}

/** Packs groups of sequences, each with its prompt once. */
export function packPass(gpu: Gpu, groups: readonly (readonly TrainingSequence[])[]): PassInput {
  const batch = packPrefixGroups(gpu, groups.map(promptPrefixGroup));
  const sequences = groups.flat();
  const { rows, targets, starts } = predictingRows(sequences, batch.sequenceEnds);
  return {
    batch,
    runStarts: { tokens: runStarts(groups, batch.sequenceEnds), predictions: starts },
    rows: gpu.from(rows, [rows.length], "u32", "predicting rows"),
    targets: gpu.from(targets, [rows.length], "u32", "targets"),
  };
}

function predict(
  model: Model,
  hidden: Tensor,
  { rows, targets }: PassInput,
  inverseTemperature: number,
  options?: { readonly forGradient: boolean },
): { gathered: Tensor; head: HeadOutput } {
  const shape = [rows.shape[0], model.config.hiddenSize];
  const gathered = model.gpu.tensor(shape, "f32", "predicting hidden");
  gatherRows(model.gpu, hidden, rows, gathered);
  return { gathered, head: headForward(model, gathered, targets, inverseTemperature, options) };
}

/** Log-probs of the targets and entropies, without a gradient. */
export function forwardPass(
  model: Model,
  input: PassInput,
  inverseTemperature: number,
): HeadOutput {
  model.expectLive();
  return predict(model, forwardOnly(model, input.batch), input, inverseTemperature).head;
}

/** How a pass with a gradient is made. */
export interface GradientPassOptions {
  readonly inverseTemperature: number;
  /** Keeps each layer's input alone for the backward pass, which computes the rest again. */
  readonly gradientCheckpointing: boolean;
  /** Tensors that the embedding's gradient is added to; by default the table's own. */
  readonly embeddingTiles?: readonly TableTile[];
  /** Count the tokens that experts are sent. */
  readonly expertLoads?: ExpertLoads | null;
}

/**
 * One forward and backward pass, which adds to the model's gradients.
 *
 * @param derive makes the loss's derivatives from what the pass predicted
 * @yields as `backward` does
 */
export function* gradientPass(
  model: Model,
  input: PassInput,
  { inverseTemperature, gradientCheckpointing, embeddingTiles, expertLoads }: GradientPassOptions,
  derive: (head: HeadOutput) => LossGradient,
): Generator<number, { head: HeadOutput; gradient: LossGradient }> {
  model.expectLive();
  const { gpu } = model;
  const { batch, rows, targets, runStarts } = input;
  const runsFrom = (starts: readonly number[], count: number) => tokenRuns(gpu, starts, count);
  const activations = forwardForTraining(model, batch, gradientCheckpointing);
  const { gathered, head } = predict(model, activations.hidden, input, inverseTemperature, {
    forGradient: true,
  });
  const gradient = derive(head);
  const dGathered = headBackward(
    model,
    gathered,
    targets,
    inverseTemperature,
    head,
    gradient.logProbs,
    gradient.entropies,
    runsFrom(runStarts.predictions, rows.size),
  );
  const dHidden = gpu.zeros(activations.hidden.shape, "f32", "hidden gradient");
  scatterRows(gpu, dGathered, rows, dHidden);
  const runs = runsFrom(runStarts.tokens, batch.size);
  const options = { tiles: embeddingTiles, loads: expertLoads };
  yield* backward(model, batch, activations, dHidden, runs, options);
  return { head, gradient };
}
