import { groupedProduct } from "../../kernels/experts/grouped_products.ts";
import { add } from "../../kernels/products/add.ts";
import { gemm } from "../../kernels/products/gemm.ts";
import type { ExpertLoraGroup } from "../decoder/expert_lora.ts";
import type { LoraGroup } from "../decoder/lora.ts";
import type { ExpertLinear } from "../decoder/expert_linear.ts";
import type { Linear } from "../decoder/linear.ts";
import { linearsOf, type Model } from "../decoder/model.ts";

/**
 * Adds an adapter to the weights it was trained on: W + alpha/rank · B·A. The model then says what it said
 * with the adapter, without it.
 *
 * @param model with an adapter, on weights that no other model uses
 */
export function mergeAdapter(model: Model): void {
  for (const layer of model.layers) {
    for (const linear of linearsOf(layer)) {
      if (linear.adapter) mergeGroup(model, linear, linear.adapter);
    }
    const { feedForward } = layer;
    if (!("experts" in feedForward)) continue;
    for (const linear of [feedForward.gateUp, feedForward.down]) {
      if (linear.adapter) mergeExperts(model, linear, linear.adapter);
    }
  }
}

function mergeGroup(
  { gpu }: Model,
  { weight }: Linear,
  { a, b, projections, rank, scale }: LoraGroup,
): void {
  const [, width] = weight.weight.shape;
  projections.forEach(({ firstColumn, firstRow, columns }, n) => {
    const rows = weight.weight.view(firstColumn * width, [columns, width]);
    gpu.scope(() => {
      const merged = gpu.tensor([columns, width], "f32", "merged weights");
      const factor = a.weight.view(n * rank * width, [rank, width]);
      const outer = b.weight.view(firstRow * rank, [columns, rank]);
      gemm(gpu, "nn", outer, factor, merged, { label: "merge adapter", scale, residual: rows });
      gpu.copy(merged, rows);
    });
  });
}

/** As the products of rows with their experts' matrices: rows of B, and A of each expert and projection. */
function mergeExperts(
  { gpu }: Model,
  { experts, weight: { weight } }: ExpertLinear,
  { a, b, projections, scale }: ExpertLoraGroup,
): void {
  const [rows] = weight.shape;
  const count = experts * projections;
  gpu.scope(() => {
    const offsets = Uint32Array.from({ length: count + 1 }, (_, i) => i * rows / count);
    const pairs = Uint32Array.from({ length: rows }, (_, row) => row);
    const list = gpu.from(pairs, [rows], "u32", "merged rows");
    const grouping = { offsets: gpu.from(offsets, [count + 1], "u32"), list, places: list };
    const change = gpu.tensor(weight.shape, "f32", "merged weights");
    groupedProduct(
      gpu,
      "nn",
      b.weight,
      { stacked: a.weight, experts: count },
      { ...grouping, chosen: 1 },
      change,
      { label: "merge adapter of experts", rowsOf: "places", scale },
    );
    add(gpu, change, weight);
  });
}
