import type { GpuLimits } from "./gpu_limits.ts";
import type { KernelCode } from "./kernel_code.ts";
import { share } from "./shares.ts";

/**
 * Instructions of a lane when its loops that multiply and add run so many times each, and the others once. Of those
 * that run once the compiler may have made no loop.
 *
 * @throws Error when there are other loops than expected
 */
export function laneInstructions(
  { instructions, loops }: Pick<KernelCode, "instructions" | "loops">,
  times: readonly number[],
): number {
  const summing = loops.filter(({ multiplyAdds }) => multiplyAdds > 0);
  const running = summing.length < times.length ? times.filter((count) => count > 1) : times;
  if (summing.length !== running.length) {
    throw new Error(`${times.length} loops that multiply expected, there are ${summing.length}`);
  }
  return summing.reduce((sum, loop, n) => sum + loop.instructions * (running[n] - 1), instructions);
}

/** A kernel that reads and writes each byte once, four elements a lane. */
export interface StreamingKernel {
  readonly what: string;
  /** How its name begins. */
  readonly label: string;
  /** Bytes of memory for a lane. */
  readonly bytes: number;
  /** How often its loops run. */
  readonly steps: number;
}

/** Rows of Qwen2.5-0.5B have 224 vectors, of which each of 64 lanes takes up to four. */
const [rowBytes, steps] = [896 * 4 / 64, 4];

export const streamingKernels: readonly StreamingKernel[] = [
  { what: "norm", label: "rmsnorm LANES=64 WORKGROUP=64", bytes: 2 * rowBytes, steps },
  {
    ...{ what: "norm, input gradient", label: "rmsnorm backward LANES=64 WORKGROUP=64" },
    ...{ bytes: 3 * rowBytes, steps },
  },
  { what: "SwiGLU", label: "swiglu", bytes: 3 * 16, steps: 1 },
  { what: "SwiGLU, gradients", label: "swiglu backward", bytes: 5 * 16, steps: 1 },
  { what: "AdamW", label: "adamw", bytes: 7 * 16, steps: 1 },
];

/** How long memory takes for such a kernel, in the time of its instructions: above 1, memory limits it. */
export function memoryOverIssue(
  { bytes, steps }: StreamingKernel,
  { instructions, loops }: Pick<KernelCode, "instructions" | "loops">,
  { cores, lanes, clock, bandwidth }: GpuLimits,
): number {
  const executed = loops.reduce((sum, loop) => sum + loop.instructions * (steps - 1), instructions);
  const inCores = executed / (lanes * cores * clock);
  return bytes / bandwidth / inCores;
}

/** Decoding of slots whose contexts are long enough to be split into spans of 128 keys. */
export interface DecodeWork {
  readonly slots: number;
  readonly context: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/** Keys of a span, one a lane, and those of a block whose outputs the join needs. */
const [spanKeys, blockKeys] = [128, 16];

/**
 * The share of the limit that decode attention reaches at most where it splits contexts into spans. Memory gives every
 * key and value once; outputs of blocks go there and back besides, for the join.
 */
export function decodeShare(
  { slots, context, heads, kvHeads, headDim }: DecodeWork,
  code: Pick<KernelCode, "instructions" | "loops" | "kernel">,
  limits: GpuLimits,
): number {
  const { cores, lanes, clock } = limits;
  const value = (name: string) => Number(code.kernel.match(` ${name}=(\\d+)`)?.[1]);
  const [group, slab, parts] = ["GROUP", "SLAB", "PARTS"].map(value);
  const blocks = spanKeys / blockKeys;
  // The scores, by so many vectors of the head, and the outputs of so many blocks at a time.
  const times = [headDim / 4 / slab, blocks / parts];
  const groups = slots * kvHeads * Math.ceil(heads / kvHeads / group) *
    Math.ceil(context / spanKeys);
  const cycles = laneInstructions(code, times) * spanKeys / lanes;
  const bytes = 2 * 4 * slots * context * kvHeads * headDim;
  const forJoin = 2 * 4 * slots * context / blockKeys * heads * (headDim + 2);
  return share(
    { multiplyAdds: 2 * slots * context * heads * headDim, bytes },
    { inCores: Math.ceil(groups / cores) * cycles / clock, bytes: bytes + forJoin },
    limits,
  );
}
