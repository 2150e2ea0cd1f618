/** What a GPU can do at most, of what its maker publishes. */
export interface GpuLimits {
  readonly name: string;
  /** Streaming multiprocessors, compute units or Xe cores: what runs a workgroup. */
  readonly cores: number;
  /** Lanes that a core serves in a cycle, each with one fma. */
  readonly lanes: number;
  /** Cycles per second. */
  readonly clock: number;
  /** Bytes of memory per second. */
  readonly bandwidth: number;
}

/**
 * GPUs for which shares are computed. Of RDNA3's rate only what goes without issuing two operations at once counts,
 * half of what is published. All are taken to read 128 bytes of a core's workgroup memory in a cycle.
 */
export const gpuLimits: readonly GpuLimits[] = [
  { name: "H100 SXM", cores: 132, lanes: 128, clock: 1.98e9, bandwidth: 3350e9 },
  { name: "RX 7900 XTX", cores: 96, lanes: 64, clock: 2.5e9, bandwidth: 960e9 },
  { name: "Strix Halo", cores: 40, lanes: 64, clock: 2.9e9, bandwidth: 256e9 },
  { name: "M3", cores: 10, lanes: 128, clock: 1.4e9, bandwidth: 100e9 },
  { name: "Arc B580", cores: 20, lanes: 128, clock: 2.67e9, bandwidth: 456e9 },
];
