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

async function fmaRate(gpu: Gpu, budget: number): Promise<number> {
  const [WORKGROUP, groups] = gpu.tuning.lanes === "cpu" ? [16, 128] : [256, 8192];
  const rounds = 256;
  const lanes = WORKGROUP * groups;
  const result = gpu.tensor([lanes]);
  // The chains tend to 1: they neither overflow nor become denormal.
  const parameters = { rounds, factor: 0.999, addend: 0.001 };
  let best = 0;
  // More chains hide more latency until they no longer fit in registers.
  for (const CHAINS of [6, 8, 10, 12]) {
    const source = { label: "fma rate", code: fmaCode, defines: { WORKGROUP, CHAINS } };
    const launch = () => gpu.dispatch(source, parameters, { result }, [groups]);
    const { median: seconds } = await timeLaunches(gpu, launch, budget);
    best = Math.max(best, 2 * CHAINS * 32 * rounds * lanes / seconds / 1e9);
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
    2 * bytes / (await timeLaunches(gpu, launch, budget)).median / 1e9;
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
