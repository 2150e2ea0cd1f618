import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { compose } from "../parts/compose.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import text from "./combine.wgsl" with { type: "text" };
import type { Grouping } from "./grouping.ts";

const code = compose(text);

/**
 * y[t] = residual[t] + Σ_j weights[t, j] · given[place of (t, j)], in the order of choice.
 *
 * @param given [P, C] for P = T · k places
 * @param y [T, C]
 * @param options `weights` [T, k] and `residual` [T, C]; each given counts once, and nothing is added, without them
 * @throws Error when the shapes do not fit
 */
export function combine(
  gpu: Gpu,
  given: Tensor,
  { places, chosen }: Grouping,
  y: Tensor,
  { weights, residual }: { readonly weights?: Tensor; readonly residual?: Tensor } = {},
): void {
  const operation = "combine experts";
  const [tokens, width] = y.shape;
  expectShape(operation, "y", y, [tokens, width]);
  expectShape(operation, "given", given, [tokens * chosen, width]);
  expectShape(operation, "places", places, [tokens * chosen], "u32");
  if (weights) expectShape(operation, "weights", weights, [tokens, chosen]);
  if (residual) expectShape(operation, "residual", residual, [tokens, width]);
  expectVectors(operation, "a row", width);
  const defines = { WEIGHTED: weights !== undefined, RESIDUAL: residual !== undefined };
  gpu.dispatch(
    { label: operation, code, defines },
    { tokens, vectors: width / 4, chosen },
    { given, places, y, ...(weights ? { weights } : {}), ...(residual ? { residual } : {}) },
    gpu.grid(Math.ceil(tokens * width / 4 / 64)),
    { bytes: 4 * tokens * width * (chosen + 2) },
  );
}
