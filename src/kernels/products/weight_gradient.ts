import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { gemm } from "./gemm.ts";
import { largestOfRuns, type TokenRuns } from "./token_runs.ts";

/**
 * Adds dyᵀ·x, a sum over tokens, to a weight's gradient. Call inside a `gpu.scope`.
 *
 * @param dy [T, O, padded to a multiple of 4]
 * @param x [T, I]
 * @param runs of the tokens, where the device sums them on matrix units; null where it does not
 * @param gradient [O, I]
 */
export function weightGradient(
  gpu: Gpu,
  label: string,
  { dy, x, runs }: { readonly dy: Tensor; readonly x: Tensor; readonly runs: TokenRuns | null },
  gradient: Tensor,
): void {
  gpu.scope(() =>
    gemm(gpu, "tn", dy, x, gradient, {
      label: `${label} weight gradient`,
      accumulate: true,
      runs: runs && {
        runs,
        largestA: largestOfRuns(gpu, runs, [dy]),
        largestB: largestOfRuns(gpu, runs, [x]),
        headroom: 0,
      },
    })
  );
}
