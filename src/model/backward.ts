import type { Tensor } from "../gpu/tensor.ts";
import { attentionBackward } from "../kernels/attention.ts";
import { embeddingBackward, embeddingPlan } from "../kernels/embedding.ts";
import { gemm } from "../kernels/gemm.ts";
import { biasBackward, rmsnormBackward } from "../kernels/rmsnorm.ts";
import { ropeBackward } from "../kernels/rope.ts";
import { swigluBackward } from "../kernels/swiglu.ts";
import {
  type AttentionActivations,
  attentionShape,
  type LayerActivations,
  type ModelActivations,
  ropeOptions,
} from "./forward.ts";
import type { Layer, Model } from "./model.ts";
import type { PackedBatch } from "./packed_batch.ts";
import type { Parameter } from "./parameters.ts";

/**
 * The gradients of y = x·Wᵀ: the weight's is added to, the input's is returned.
 *
 * @param dy [T, O]
 * @param x [T, I]
 */
function linearBackward(
  model: Model,
  label: string,
  weight: Parameter,
  dy: Tensor,
  x: Tensor,
): Tensor {
  const { gpu } = model;
  if (weight.gradient) {
    gemm(gpu, "tn", dy, x, weight.gradient, {
      label: `${label} weight gradient`,
      accumulate: true,
    });
  }
  const dx = gpu.tensor(x.shape, "f32", `${label} input gradient`);
  gemm(gpu, "nn", dy, weight.weight, dx, { label: `${label} input gradient` });
  return dx;
}

/** @returns the gradient of the layer's input [T, C] */
function layerBackward(
  model: Model,
  layer: Layer,
  made: LayerActivations<AttentionActivations>,
  batch: PackedBatch,
  dOutput: Tensor,
): Tensor {
  const { gpu } = model;
  const dInner = linearBackward(model, "down", layer.down, dOutput, made.inner);
  const dGateUp = gpu.tensor(made.gateUp.shape, "f32", "gate and up gradient");
  swigluBackward(gpu, made.gateUp, dInner, dGateUp);
  const dMiddleNormed = linearBackward(
    model,
    "gate and up",
    layer.gateUp,
    dGateUp,
    made.middleNormed,
  );
  const dMiddle = gpu.tensor(made.middle.shape, "f32", "residual gradient");
  rmsnormBackward(gpu, {
    x: made.middle,
    weight: layer.postNorm.weight,
    rstd: made.middleRstd,
    dy: dMiddleNormed,
    upstream: dOutput,
    dx: dMiddle,
    weightGradient: layer.postNorm.gradient,
  });
  const { queries, keys, values, output, logSumExp } = made.attention;
  const [T, heads, headDim] = output.shape;
  const flat = output.reshape(T, heads * headDim);
  const dAttention = linearBackward(
    model,
    "attention output",
    layer.attentionOutput,
    dMiddle,
    flat,
  );
  const dQueries = gpu.tensor(queries.shape, "f32", "query gradient");
  const dKeys = gpu.tensor(keys.shape, "f32", "key gradient");
  const dValues = gpu.tensor(values.shape, "f32", "value gradient");
  attentionBackward(
    gpu,
    {
      queries,
      keys,
      values,
      output,
      logSumExp,
      outputGradient: dAttention.reshape(T, heads, headDim),
      segments: batch.segments,
    },
    { dQueries, dKeys, dValues },
    attentionShape(model),
  );
  const dQkv = gpu.tensor(made.qkv.shape, "f32", "qkv gradient");
  const { queryNorm, keyNorm } = layer;
  const normGradients = queryNorm?.gradient && keyNorm?.gradient
    ? { queryNorm: queryNorm.gradient, keyNorm: keyNorm.gradient }
    : null;
  ropeBackward(
    gpu,
    { dQueries, dKeys, dValues },
    made.qkv,
    batch.positions,
    dQkv,
    normGradients,
    ropeOptions(model, layer),
  );
  if (layer.qkvBias?.gradient) biasBackward(gpu, dQkv, layer.qkvBias.gradient);
  const dInputNormed = linearBackward(model, "qkv", layer.qkv, dQkv, made.inputNormed);
  const dInput = gpu.tensor(made.input.shape, "f32", "residual gradient");
  rmsnormBackward(gpu, {
    x: made.input,
    weight: layer.inputNorm.weight,
    rstd: made.inputRstd,
    dy: dInputNormed,
    upstream: dMiddle,
    dx: dInput,
    weightGradient: layer.inputNorm.gradient,
  });
  return dInput;
}

/**
 * Adds the gradients of every parameter below the head.
 *
 * @param dHidden [T, C] gradient of `made.hidden`
 */
export function backward(
  model: Model,
  batch: PackedBatch,
  made: ModelActivations,
  dHidden: Tensor,
): void {
  const { gpu } = model;
  gpu.scope(() => {
    let dx = gpu.tensor(made.last.shape, "f32", "residual gradient");
    rmsnormBackward(gpu, {
      x: made.last,
      weight: model.finalNorm.weight,
      rstd: made.lastRstd,
      dy: dHidden,
      upstream: null,
      dx,
      weightGradient: model.finalNorm.gradient,
    });
    for (let index = model.layers.length - 1; index >= 0; index--) {
      const above = dx;
      dx = gpu.scope(
        () => layerBackward(model, model.layers[index], made.layers[index], batch, above),
        (kept) => [kept],
      );
      gpu.release(above);
    }
    const tiles = model.embedding.flatMap(({ firstRow, gradient }) =>
      gradient ? [{ firstRow, rows: gradient }] : []
    );
    if (tiles.length > 0) embeddingBackward(gpu, dx, embeddingPlan(gpu, batch.tokenIds), tiles);
  });
}
