/** Projections of experts and what adapters add to them: their products with the rows that each expert is sent. */

import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import {
  type ExpertMatrices,
  groupedGradient,
  type GroupedOptions,
  groupedProduct,
  type RowsOf,
} from "../../kernels/experts/grouped_products.ts";
import type { Grouping } from "../../kernels/experts/grouping.ts";
import type { ExpertLoraGroup } from "./expert_lora.ts";
import type { Parameter } from "./parameters.ts";

/** A projection of all experts of a layer: E experts, T tokens, P = T · k places. */
export interface ExpertLinear {
  /** E */
  readonly experts: number;
  /** [E·O, I] */
  readonly weight: Parameter;
  readonly adapter: ExpertLoraGroup | null;
}

const matrices = ({ experts }: ExpertLinear, stacked: Tensor): ExpertMatrices => ({
  stacked,
  experts,
});

/** scale · x·Aᵀ of each place and projection, [P, n·r] */
function adapterInner(
  gpu: Gpu,
  label: string,
  linear: ExpertLinear,
  { a, scale, projections, rank }: ExpertLoraGroup,
  x: Tensor,
  rowsOf: RowsOf,
  grouping: Grouping,
): Tensor {
  const [pairs] = grouping.list.shape;
  const inner = gpu.tensor([pairs, projections * rank], "f32", `${label} adapter`);
  groupedProduct(gpu, "nt", x, matrices(linear, a.weight), grouping, inner, {
    ...{ label: `${label} adapter in`, rowsOf, scale },
  });
  return inner;
}

/**
 * What each place's expert makes of its row, with what its adapter adds.
 *
 * @param x [T, I] or [P, I]
 * @param y [P, O], gated [P, O / 2]
 * @param options `gated` as `groupedProduct` has it
 */
export function expertForward(
  gpu: Gpu,
  label: string,
  linear: ExpertLinear,
  x: Tensor,
  grouping: Grouping,
  y: Tensor,
  options: Pick<GroupedOptions, "rowsOf" | "gated">,
): void {
  const { weight, adapter } = linear;
  gpu.scope(() => {
    const further = adapter && {
      inner: adapterInner(gpu, label, linear, adapter, x, options.rowsOf, grouping),
      further: adapter.b.weight,
    };
    const stacked = matrices(linear, weight.weight);
    groupedProduct(gpu, "nt", x, stacked, grouping, y, { ...options, label, further });
  });
}

/** What `expertInputGradient` makes. */
export interface ExpertInputGradient {
  /** [P, I] */
  readonly dx: Tensor;
  /** [P, n·r], the gradient of x·Aᵀ; null without an adapter */
  readonly dInner: Tensor | null;
}

/**
 * The gradient of what `expertForward` read, of each place.
 *
 * @param dy [T, O] or [P, O]
 */
export function expertInputGradient(
  gpu: Gpu,
  label: string,
  linear: ExpertLinear,
  dy: Tensor,
  rowsOf: RowsOf,
  grouping: Grouping,
): ExpertInputGradient {
  const { weight, adapter } = linear;
  const [pairs] = grouping.list.shape;
  const dx = gpu.tensor([pairs, weight.weight.shape[1]], "f32", `${label} input gradients`);
  groupedProduct(gpu, "nn", dy, matrices(linear, weight.weight), grouping, dx, {
    ...{ label: `${label} input gradient`, rowsOf },
  });
  if (!adapter) return { dx, dInner: null };
  const { a, b, scale, rank, projections: count } = adapter;
  const dInner = gpu.tensor([pairs, count * rank], "f32", `${label} adapter gradient`);
  for (let index = 0; index < count; index++) {
    groupedProduct(gpu, "nn", dy, matrices(linear, b.weight), grouping, dInner, {
      ...{ label: `${label} adapter inner gradient`, rowsOf, scale },
      part: { index, count },
    });
  }
  groupedProduct(gpu, "nn", dInner, matrices(linear, a.weight), grouping, dx, {
    ...{ label: `${label} adapter input gradient`, rowsOf: "places", accumulate: true },
  });
  return { dx, dInner };
}

/** Rows of tokens or of places. */
interface GroupedRows {
  readonly rows: Tensor;
  readonly of: RowsOf;
}

/**
 * Adds to the gradients of weights and adapter, where these are trained. How much a place counts is in dy and dInner, or
 * in x for both.
 *
 * @param dy [T, O] or [P, O]
 * @param x [T, I] or [P, I], not both of tokens
 * @param dInner of `expertInputGradient`
 */
export function expertWeightGradients(
  gpu: Gpu,
  label: string,
  linear: ExpertLinear,
  { dy, x, dInner }: {
    readonly dy: GroupedRows;
    readonly x: GroupedRows;
    readonly dInner: Tensor | null;
  },
  grouping: Grouping,
): void {
  const { weight, adapter } = linear;
  if (weight.gradient) {
    const ofTokens = dy.of === "tokens" ? "a" : x.of === "tokens" ? "b" : "none";
    const factors = { a: dy.rows, b: x.rows, ofTokens } as const;
    const gradient = matrices(linear, weight.gradient);
    groupedGradient(gpu, `${label} weight gradient`, factors, grouping, gradient);
  }
  if (!adapter || !dInner) return;
  const { a, b, projections: count } = adapter;
  if (b.gradient) {
    const inner = adapterInner(gpu, label, linear, adapter, x.rows, x.of, grouping);
    const gradient = matrices(linear, b.gradient);
    for (let index = 0; index < count; index++) {
      groupedGradient(
        gpu,
        `${label} adapter out gradient`,
        {
          ...{ a: dy.rows, b: inner, ofTokens: dy.of === "tokens" ? "a" : "none" },
          part: { index, count },
        },
        grouping,
        gradient,
      );
    }
  }
  if (a.gradient) {
    groupedGradient(
      gpu,
      `${label} adapter in gradient`,
      {
        ...{ a: dInner, b: x.rows, ofTokens: x.of === "tokens" ? "b" : "none" },
      },
      grouping,
      matrices(linear, a.gradient),
    );
  }
}
