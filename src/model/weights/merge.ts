import { gemm } from "../../kernels/products/gemm.ts";
import type { LoraGroup } from "../decoder/lora.ts";
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
