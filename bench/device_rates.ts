import type { Gpu } from "../src/gpu/gpu.ts";
import copyCode from "./copy_rate.wgsl" with { type: "text" };
import fmaCode from "./fma_rate.wgsl" with { type: "text" };
import { timeLaunches } from "./timing.ts";

/** What this device can do at best, measured: the yardstick for the kernels. */
export interface DeviceRates {
  /** f32 multiplications and additions in registers, 10⁹ per second. */
  readonly gflops: number;
  /** Bytes that a kernel which copies a large buffer reads and writes, 10⁹ per second. */
  readonly gbps: number;
  /** The same when the driver copies. */
  readonly driverCopyGbps: number;
}

/** Measures the rates; of several ways to write each kernel the fastest counts. */
export async function measureDeviceRates(gpu: Gpu, budget: number): Promise<DeviceRates> {
  return { gflops: await fmaRate(gpu, budget), ...await copyRates(gpu, budget) };
}

/**
 * Chains in registers and fma of each chain in a round. More chains hide more latency until they no longer fit;
 * long rounds suit a software driver, whose loops cost as much as hundreds of fma, and overflow a GPU's
 * instruction cache.
 */
const fmaShapes = [[8, 32], [12, 32], [12, 128], [10, 512], [12, 512], [14, 512]];

async function fmaRate(gpu: Gpu, budget: number): Promise<number> {
  const [WORKGROUP, groups] = gpu.tuning.lanes === "cpu" ? [16, 128] : [256, 8192];
  const steps = 8192;
  const lanes = WORKGROUP * groups;
  const result = gpu.tensor([lanes]);
  let best = 0;
  for (const [CHAINS, STEPS] of fmaShapes) {
    const source = { label: "fma rate", code: fmaCode, defines: { WORKGROUP, CHAINS, STEPS } };
    const parameters = { rounds: steps / STEPS, factor: 0.001 };
    const launch = () => gpu.dispatch(source, parameters, { result }, [groups]);
    const { fastest: seconds } = await timeLaunches(gpu, launch, budget);
    best = Math.max(best, 2 * CHAINS * steps * lanes / seconds / 1e9);
  }
  gpu.release(result);
  return best;
}

async function copyRates(gpu: Gpu, budget: number) {
  const limit = gpu.device.limits.maxStorageBufferBindingSize;
  // Larger than the caches, and a multiple of what a workgroup copies.
  const bytes = Math.min(limit, (gpu.tuning.lanes === "cpu" ? 64 : 512) * 2 ** 20);
  const [source, copy] = [gpu.zeros([bytes / 4]), gpu.tensor([bytes / 4])];
  const rate = async (launch: () => void) =>
    2 * bytes / (await timeLaunches(gpu, launch, budget)).fastest / 1e9;
  let gbps = 0;
  for (const [WORKGROUP, VECTORS] of [[256, 1], [64, 8], [8, 64]]) {
    const kernel = { label: "copy rate", code: copyCode, defines: { WORKGROUP, VECTORS } };
    const grid = gpu.grid(bytes / (16 * WORKGROUP * VECTORS));
    gbps = Math.max(gbps, await rate(() => gpu.dispatch(kernel, {}, { source, copy }, grid)));
  }
  const driverCopyGbps = await rate(() => gpu.copy(source, copy));
  gpu.release(source, copy);
  gpu.pool.trim();
  return { gbps, driverCopyGbps };
}
