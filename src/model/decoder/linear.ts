import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { gemm, type GemmOptions } from "../../kernels/products/gemm.ts";
import { type HalfRows, halfRowsOf } from "../../kernels/products/half_rows.ts";
import { biasBackward } from "../../kernels/layers/rmsnorm.ts";
import { scaled } from "../../kernels/layers/scale.ts";
import { swigluForward } from "../../kernels/layers/swiglu.ts";
import type { TokenRuns } from "../../kernels/products/token_runs.ts";
import { addTokenSums } from "../../kernels/products/block_sums.ts";
import { weightGradient } from "../../kernels/products/weight_gradient.ts";
import type { Activation } from "../../kernels/parts/activation.ts";
import type { LoraGroup } from "./lora.ts";
import type { Parameter } from "./parameters.ts";

/** A projection: a block of weights and what an adapter adds to it. T rows, I inputs, O outputs. */
export interface Linear {
  /** [O, I] */
  readonly weight: Parameter;
  /** [O] */
  readonly bias: Parameter | null;
  /** Multiplies what comes out, bias and adapter with it. */
  readonly scale: number;
  readonly adapter: LoraGroup | null;
}

/** scale · x·Aᵀ of all projections in the group, [T, n·r] */
function adapterInner(
  gpu: Gpu,
  label: string,
  x: Tensor,
  { a }: LoraGroup,
  scale: number,
  halfRows: HalfRows | null,
): Tensor {
  const inner = gpu.tensor([x.shape[0], a.weight.shape[0]], "f32", `${label} adapter`);
  gemm(gpu, "nt", x, a.weight, inner, { label: `${label} adapter in`, scale, halfRows });
  return inner;
}

/** Rows up to which a GPU's products go on with an adapter's terms. */
const joinedRows = 64;

/**
 * Whether products go on with an adapter's terms rather than that other products add them, with the same bits. Where
 * lanes own 64 sums, in training, the terms take registers of them all (of GA102's 168 → 240, so that a core keeps 8
 * warps and not 12), and launches are no matter. On matrix units they always are: other products would round the factors
 * of these terms, and the bits would depend on the number of rows.
 */
function isJoined({ tuning }: Gpu, { shape: [rows] }: Tensor): boolean {
  return tuning.lanes === "cpu" || tuning.matrix !== null || rows <= joinedRows;
}

/** Adds what an adapter makes of x to y [T, O]. Call inside a `gpu.scope`. */
function addAdapter(
  gpu: Gpu,
  label: string,
  x: Tensor,
  adapter: LoraGroup,
  scale: number,
  y: Tensor,
): void {
  const inner = adapterInner(gpu, label, x, adapter, scale * adapter.scale, null);
  const { b, projections, rank } = adapter;
  projections.forEach(({ firstColumn, firstRow, columns }, n) => {
    gemm(gpu, "nt", inner, b.weight.view(firstRow * rank, [columns, rank]), y, {
      label: `${label} adapter out`,
      accumulate: true,
      depth: rank,
      firstColumnOfA: n * rank,
      firstColumn,
    });
  });
}

/** What an adapter adds to the products of x, and what its products share with these. Call inside a `gpu.scope`. */
function adapted(
  gpu: Gpu,
  label: string,
  x: Tensor,
  { adapter, scale }: Linear,
  made: HalfRows | null,
): Pick<GemmOptions, "further" | "halfRows"> {
  if (!adapter) return { halfRows: made };
  const halfRows = made ?? halfRowsOf(gpu, x);
  const inner = adapterInner(gpu, label, x, adapter, scale * adapter.scale, halfRows);
  const { b, projections } = adapter;
  return { further: { inner, further: b.weight, projections }, halfRows };
}

/**
 * y = scale · (x·Wᵀ + bias) + residual + scale · adapter.
 *
 * @param x [T, I]
 * @param residual [T, O]
 * @param halfRows of x, where what made it has made them
 * @returns [T, O]
 */
export function linearForward(
  gpu: Gpu,
  label: string,
  linear: Linear,
  x: Tensor,
  options: { readonly residual?: Tensor; readonly halfRows?: HalfRows | null } = {},
): Tensor {
  const y = gpu.tensor([x.shape[0], linear.weight.weight.shape[0]], "f32", label);
  linearInto(gpu, label, linear, x, y, options);
  return y;
}

/** As `linear`, into y [T, O]. */
function linearInto(
  gpu: Gpu,
  label: string,
  linear: Linear,
  x: Tensor,
  y: Tensor,
  { residual, halfRows = null }: {
    readonly residual?: Tensor;
    readonly halfRows?: HalfRows | null;
  },
): void {
  const { weight, bias, scale, adapter } = linear;
  const options = {
    label,
    bias: bias?.weight,
    residual,
    scale: scale === 1 ? undefined : scale,
  };
  gpu.scope(() => {
    if (!adapter || isJoined(gpu, x)) {
      const terms = adapted(gpu, label, x, linear, halfRows);
      gemm(gpu, "nt", x, weight.weight, y, { ...options, ...terms });
    } else {
      gemm(gpu, "nt", x, weight.weight, y, { ...options, halfRows });
      addAdapter(gpu, label, x, adapter, scale, y);
    }
  });
}

/**
 * act(gate) · up, of a projection that gives gate and up side by side.
 *
 * @param x [T, I]
 * @param kept [T, 2 · O] receives gate and up; null when nobody asks for them
 * @param halfRows of x, where what made it has made them
 * @returns [T, O]
 */
export function gatedForward(
  gpu: Gpu,
  label: string,
  linear: Linear,
  x: Tensor,
  { kept, activation, halfRows = null }: {
    readonly kept: Tensor | null;
    readonly activation: Activation;
    readonly halfRows?: HalfRows | null;
  },
): Tensor {
  const { weight: { weight }, bias, adapter } = linear;
  const [T] = x.shape;
  const inner = gpu.tensor([T, weight.shape[0] / 2], "f32", "inner");
  // A lane of the joined product has columns of gate and up, so that both have terms or none.
  const isGated = !bias && (!adapter || isJoined(gpu, x) && adapter.projections.length === 2);
  if (!isGated) {
    gpu.scope(() => {
      const gateUp = kept ?? gpu.tensor([T, weight.shape[0]], "f32", label);
      linearInto(gpu, label, linear, x, gateUp, { halfRows });
      swigluForward(gpu, gateUp, inner, activation);
    });
  } else {
    gpu.scope(() => {
      const options = adapted(gpu, label, x, linear, halfRows);
      gemm(gpu, "nt", x, weight, inner, { label, gated: { kept, activation }, ...options });
    });
  }
  return inner;
}

/**
 * The gradients of `linearForward` but for the residual: those of weights and bias are added to, the input's is
 * returned.
 *
 * @param dOutput [T, O]
 * @param x [T, I]
 * @param runs of the tokens, where the device sums over them on matrix units, or an adapter's by their blocks
 */
export function linearBackward(
  gpu: Gpu,
  label: string,
  { weight, bias, scale, adapter }: Linear,
  dOutput: Tensor,
  x: Tensor,
  runs: TokenRuns | null,
): Tensor {
  const dy = scale === 1 ? dOutput : scaled(gpu, dOutput, scale);
  if (bias?.gradient) biasBackward(gpu, dy, bias.gradient);
  if (weight.gradient) weightGradient(gpu, label, { dy, x, runs }, weight.gradient);
  const dx = gpu.tensor(x.shape, "f32", `${label} input gradient`);
  gemm(gpu, "nn", dy, weight.weight, dx, { label: `${label} input gradient` });
  if (adapter) gpu.scope(() => adapterBackward(gpu, label, adapter, { dy, x, runs }, dx));
  if (dy !== dOutput) gpu.release(dy);
  return dx;
}

function adapterBackward(
  gpu: Gpu,
  name: string,
  adapter: LoraGroup,
  { dy, x, runs }: { readonly dy: Tensor; readonly x: Tensor; readonly runs: TokenRuns | null },
  dx: Tensor,
): void {
  const { a, b, projections, rank, scale } = adapter;
  const accumulate = true;
  // Made again rather than kept: it costs what an adapter costs, a few per cent of the projection.
  const inner = adapterInner(gpu, name, x, adapter, scale, null);
  const dInner = gpu.tensor(inner.shape, "f32", `${name} adapter gradient`);
  projections.forEach(({ firstColumn, columns, firstRow }, n) => {
    const own = (tensor: Tensor) => tensor.view(firstRow * rank, [columns, rank]);
    if (b.gradient) {
      const label = `${name} adapter out gradient`, gradient = own(b.gradient);
      const places = { firstColumnOfA: firstColumn, firstColumnOfB: n * rank };
      if (runs) addTokenSums(gpu, label, { a: dy, b: inner, ...places }, runs, gradient);
      else gemm(gpu, "tn", dy, inner, gradient, { label, accumulate, columns: rank, ...places });
    }
    gemm(gpu, "nn", dy, own(b.weight), dInner, {
      label: `${name} adapter inner gradient`,
      depth: columns,
      firstColumnOfA: firstColumn,
      firstColumn: n * rank,
      columns: rank,
      scale,
    });
  });
  if (a.gradient) {
    const label = `${name} adapter in gradient`;
    if (runs) addTokenSums(gpu, label, { a: dInner, b: x }, runs, a.gradient);
    else gemm(gpu, "tn", dInner, x, a.gradient, { label, accumulate });
  }
  gemm(gpu, "nn", dInner, a.weight, dx, { label: `${name} adapter input gradient`, accumulate });
}
