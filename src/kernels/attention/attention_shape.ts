import type { Gpu } from "../../gpu/gpu.ts";
import { broadcastLanes } from "../../gpu/tuning.ts";

/** What every attention operation must know about the heads. */
export interface AttentionShape {
  /** H, query heads, a multiple of `kvHeads`. */
  readonly heads: number;
  /** KV, key/value heads; query head h reads key/value head floor(h / (H / KV)). */
  readonly kvHeads: number;
  /** D, elements of one head, a multiple of 4. */
  readonly headDim: number;
  /** Factor of q · k before the softmax, usually 1/√D. */
  readonly scale: number;
  /** Keys that a query sees, its own the last; null or left out for all before it. */
  readonly window?: number | null;
  /** c of scores that become c · tanh(score / c) (Gemma 2); null or left out for scores as they are. */
  readonly cap?: number | null;
}

/** Keys of one softmax block; the order of every attention sum is made of blocks of this many. */
export const attentionBlock = 16;

/** Tokens of one page of the KV cache, a multiple of `attentionBlock`. */
export const pageTokens = 32;

/**
 * How the lanes of a workgroup come by the rows they all need. All give the same bits.
 *
 * - `broadcast`: a lane owns a row, eight load another row each and broadcast it; for drivers that run lanes as
 *   SIMD lanes of a CPU core and have subgroups of at least 8
 * - `broadcast of 4`: four do, for those with subgroups of 4
 * - `tiled`: tiles of owned by walked rows through workgroup memory, for hardware
 */
export type AttentionVariant = "broadcast" | "broadcast of 4" | "tiled";

/** The variant that suits the device. */
export function attentionVariant(gpu: Gpu): AttentionVariant {
  const lanes = broadcastLanes(gpu.tuning);
  return lanes === null ? "tiled" : lanes === 8 ? "broadcast" : "broadcast of 4";
}

/** The factor that turns natural exponents into exponents of two. */
export const log2e = Math.LOG2E;

/** @throws Error when the head counts or the head size do not fit the kernels */
export function expectAttentionShape(operation: string, shape: AttentionShape): void {
  const { heads, kvHeads, headDim } = shape;
  if (!Number.isInteger(heads / kvHeads) || heads < 1) {
    throw new Error(
      `${operation}: ${heads} query heads are no multiple of ${kvHeads} key/value heads`,
    );
  }
  const { window } = shape;
  if (typeof window === "number" && !(Number.isInteger(window) && window >= 1)) {
    throw new Error(`${operation}: a window of ${window} keys`);
  }
  const { cap } = shape;
  if (typeof cap === "number" && !(cap > 0)) throw new Error(`${operation}: a cap of ${cap}`);
  if (headDim < 4 || headDim % 4 !== 0) {
    throw new Error(`${operation}: head size ${headDim}, expected a multiple of 4`);
  }
}

/** What tells a kernel of window and cap: defines, and parameters where there is one. */
export function scoringOf({ window, cap }: Pick<AttentionShape, "window" | "cap">): {
  readonly defines: { readonly WINDOW: boolean; readonly CAP: boolean };
  readonly parameters: Readonly<Record<string, number>>;
} {
  const WINDOW = typeof window === "number", CAP = typeof cap === "number";
  return {
    defines: { WINDOW, CAP },
    parameters: {
      ...(WINDOW ? { window } : {}),
      ...(CAP ? { cap: cap * log2e, inverseCap: 1 / (cap * log2e) } : {}),
    },
  };
}
