import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { gemm } from "./gemm.ts";
import { largestOfRuns, type TokenRuns } from "./token_runs.ts";

/** A bound of what a gradient is made of, where it is not looked through itself. */
export interface GradientBound {
  /** [T]; the gradient's elements are at most 2^headroom times as large as the largest of their run. */
  readonly tensors: readonly Tensor[];
  readonly headroom: number;
}

/**
 * Adds dyᵀ·x, a sum over tokens, to a weight's gradient. Call inside a `gpu.scope`.
 *
 * @param dy [T, O, padded to a multiple of 4]
 * @param x [T, I]
 * @param gradient [O, I]
 * @param runs of the tokens, where the device sums them on matrix units; null where it does not
 * @param bound of dy
 */
export function weightGradient(
  gpu: Gpu,
  label: string,
  { dy, x, runs, bound }: {
    readonly dy: Tensor;
    readonly x: Tensor;
    readonly runs: TokenRuns | null;
    readonly bound?: GradientBound;
  },
  gradient: Tensor,
): void {
  const options = { label: `${label} weight gradient`, accumulate: true };
  if (!runs) return gemm(gpu, "tn", dy, x, gradient, options);
  gpu.scope(() => {
    const { tensors, headroom } = bound ?? { tensors: [dy], headroom: 0 };
    const largestA = largestOfRuns(gpu, runs, tensors);
    const largestB = largestOfRuns(gpu, runs, [x]);
    gemm(gpu, "tn", dy, x, gradient, { ...options, runs: { runs, largestA, largestB, headroom } });
  });
}
