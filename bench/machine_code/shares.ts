import type { GpuLimits } from "./gpu_limits.ts";

/** Bytes of workgroup memory that a core reads in a cycle, and lanes that read together. */
export const [bytesOfCycle, readingLanes] = [128, 32];

/** Cycles in which lanes that read together get so many different vectors of 16 bytes. */
export function readingCycles(vectors: number): number {
  return Math.ceil(Math.max(1, vectors) * 16 / bytesOfCycle);
}

/** What must be done, however. */
export interface KernelWork {
  readonly multiplyAdds: number;
  /** Of memory, each once. */
  readonly bytes: number;
}

/** What a kernel takes for it. */
export interface Taken {
  /** Seconds of the cores. */
  readonly inCores: number;
  /** Of memory. */
  readonly bytes: number;
}

/**
 * The share of a GPU's limit that is reached: the longer of two times, that of the multiply-adds and that of memory,
 * beside the longer of what the kernel takes.
 */
export function share(
  { multiplyAdds, bytes }: KernelWork,
  taken: Taken,
  { cores, lanes, clock, bandwidth }: GpuLimits,
): number {
  const atBest = Math.max(multiplyAdds / (lanes * cores * clock), bytes / bandwidth);
  return atBest / Math.max(taken.inCores, taken.bytes / bandwidth);
}
