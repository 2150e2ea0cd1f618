import type { Tensor } from "../../gpu/tensor.ts";
import { convolutionBackward } from "../../kernels/convolution/short_convolution.ts";
import { attentionBackward } from "../../kernels/attention/attention.ts";
import {
  embeddingBackward,
  embeddingPlan,
  type TableTile,
} from "../../kernels/layers/embedding.ts";
import { rmsnormBackward } from "../../kernels/layers/rmsnorm.ts";
import { ropeBackward } from "../../kernels/attention/rope.ts";
import type { TokenRuns } from "../../kernels/products/token_runs.ts";
import { scaled } from "../../kernels/layers/scale.ts";
import {
  attentionShape,
  convolutionWeights,
  type LayerActivations,
  type MixerActivations,
  type ModelActivations,
  ropeOptions,
} from "./forward.ts";
import type { ExpertLoads } from "./expert_loads.ts";
import { gatedAttentionBackward, joinQkvGradient } from "./attention_gate.ts";
import { branchBackward } from "./branch.ts";
import { deltaBackward } from "./delta.ts";
import { feedForwardBackward } from "./feed_forward.ts";
import { linearBackward } from "./linear.ts";
import type { Layer, Model } from "./model.ts";
import { wholeNormBackward } from "./whole_norms.ts";
import type { PackedBatch } from "./packed_batch.ts";

/**
 * @param dMixed [T, H·D], of a convolution [T, C], of a DeltaNet [T, N]
 * @returns the gradient of what the projection gave
 */
function mixerBackward(
  model: Model,
  layer: Layer,
  { qkv, wholeNorms, attention }: Pick<
    LayerActivations<MixerActivations>,
    "qkv" | "wholeNorms" | "attention"
  >,
  batch: PackedBatch,
  dMixed: Tensor,
): Tensor {
  const { gpu } = model;
  const dQkv = gpu.tensor(qkv.shape, "f32", "qkv gradient");
  if ("inputs" in attention) {
    const places = { inputs: attention.inputs, segments: batch.segments };
    convolutionBackward(gpu, qkv, places, convolutionWeights(layer), {
      dOutput: dMixed,
      dProjected: dQkv,
      weightGradient: layer.convolution?.gradient ?? null,
    });
    return dQkv;
  }
  if ("rule" in attention) {
    const given = { projected: qkv, dOutput: dMixed, dProjected: dQkv };
    deltaBackward(model, layer, attention, batch, given);
    return dQkv;
  }
  const { output } = attention;
  attentionBackward(
    gpu,
    {
      ...attention,
      outputGradient: dMixed.reshape(...output.shape),
      segments: batch.segments,
      attendedRows: batch.attendedRows,
    },
    dQkv,
    attentionShape(model, layer),
  );
  const { queryNorm, keyNorm } = layer;
  const normGradients = !wholeNorms && queryNorm?.gradient && keyNorm?.gradient
    ? { queryNorm: queryNorm.gradient, keyNorm: keyNorm.gradient }
    : null;
  ropeBackward(
    gpu,
    qkv,
    batch.positions,
    dQkv,
    normGradients,
    ropeOptions(model, layer, batch.longest),
  );
  return wholeNorms ? wholeNormBackward(model, layer, wholeNorms, dQkv) : dQkv;
}

/** As `mixerBackward`, behind gates where attention has any. */
function gatedMixerBackward(
  model: Model,
  layer: Layer,
  made: LayerActivations<MixerActivations>,
  batch: PackedBatch,
  dMixed: Tensor,
): Tensor {
  const { gatedQkv, attention: { output } } = made;
  if (!gatedQkv) return mixerBackward(model, layer, made, batch, dMixed);
  const attended = output.reshape(...dMixed.shape);
  const { dAttended, dProjected } = gatedAttentionBackward(model, attended, gatedQkv, dMixed);
  joinQkvGradient(model, dProjected, mixerBackward(model, layer, made, batch, dAttended));
  return dProjected;
}

/** @returns the gradient of the layer's input [T, C] */
function layerBackward(
  model: Model,
  layer: Layer,
  made: LayerActivations<MixerActivations>,
  batch: PackedBatch,
  runs: TokenRuns | null,
  dOutput: Tensor,
): Tensor {
  const { gpu, config } = model;
  const dFed = branchBackward(model, layer.feedForwardNorm, made.feedForwardBranch, dOutput);
  const { feedForward, middleNormed } = made;
  const dMiddleNormed = feedForwardBackward(model, layer, feedForward, middleNormed, dFed, runs);
  const dMiddle = gpu.tensor(made.middle.shape, "f32", "residual gradient");
  rmsnormBackward(gpu, {
    x: made.middle,
    weight: layer.postNorm.weight,
    rstd: made.middleRstd,
    dy: dMiddleNormed,
    upstream: dOutput,
    dx: dMiddle,
    weightGradient: layer.postNorm.gradient,
  }, config.norms);
  const dAttended = branchBackward(model, layer.attentionNorm, made.attentionBranch, dMiddle);
  const dMixed = linearBackward(
    gpu,
    "attention output",
    layer.attentionOutput,
    dAttended,
    made.mixed,
    runs,
  );
  const dQkv = gatedMixerBackward(model, layer, made, batch, dMixed);
  const dInputNormed = linearBackward(gpu, "qkv", layer.qkv, dQkv, made.inputNormed, runs);
  const dInput = gpu.tensor(made.input.shape, "f32", "residual gradient");
  rmsnormBackward(gpu, {
    x: made.input,
    weight: layer.inputNorm.weight,
    rstd: made.inputRstd,
    dy: dInputNormed,
    upstream: dMiddle,
    dx: dInput,
    weightGradient: layer.inputNorm.gradient,
  }, config.norms);
  return dInput;
}

/** The trained tiles of the embedding's gradient; none when it is frozen. */
export function embeddingGradient({ embedding }: Model): TableTile[] {
  return embedding.flatMap(({ firstRow, gradient }) =>
    gradient ? [{ firstRow, rows: gradient }] : []
  );
}

/**
 * Adds the gradients of every parameter below the head, from the last layer to the first. Call each step inside a
 * scope.
 *
 * @param dHidden [T, C] gradient of `made.hidden`
 * @param runs of the batch's tokens, where the device sums over them on matrix units
 * @param options `tiles` that the embedding's gradient is added to, and `loads` that count the tokens of experts
 * @yields each layer's index, once the gradients of its parameters and of those above are recorded
 */
export function* backward(
  model: Model,
  batch: PackedBatch,
  made: ModelActivations,
  dHidden: Tensor,
  runs: TokenRuns | null,
  { tiles = embeddingGradient(model), loads = null }: {
    readonly tiles?: readonly TableTile[];
    readonly loads?: ExpertLoads | null;
  } = {},
): Generator<number, void> {
  const { gpu, config: { scales, norms } } = model;
  let dx = gpu.tensor(made.last.shape, "f32", "residual gradient");
  gpu.scope(() =>
    rmsnormBackward(gpu, {
      x: made.last,
      weight: model.finalNorm.weight,
      rstd: made.lastRstd,
      dy: scales.logits === 1 ? dHidden : scaled(gpu, dHidden, scales.logits),
      upstream: null,
      dx,
      weightGradient: model.finalNorm.gradient,
    }, norms)
  );
  for (let index = model.layers.length - 1; index >= 0; index--) {
    const above = dx;
    dx = gpu.scope(
      () => {
        const activations = made.layers[index]();
        const { routing } = activations.feedForward;
        if (routing) loads?.add(index, routing.grouping);
        return layerBackward(model, model.layers[index], activations, batch, runs, above);
      },
      (kept) => [kept],
    );
    gpu.release(above);
    yield index;
  }
  if (tiles.length > 0) {
    gpu.scope(() => {
      const dEmbedded = scales.embedding === 1 ? dx : scaled(gpu, dx, scales.embedding);
      embeddingBackward(gpu, dEmbedded, embeddingPlan(gpu, batch.tokenIds), tiles);
    });
  }
  gpu.release(dx);
}
