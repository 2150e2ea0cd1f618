import { engineVersions } from "../src/cli/machine_report.ts";
import { type DeviceLimits, limitsOf } from "../src/gpu/device_limits.ts";
import type { DeviceInfo } from "../src/gpu/adapter.ts";
import { driverOf } from "../src/platform/gpus/gpu_list.ts";
import type { Gpu } from "../src/gpu/gpu.ts";
import type { MeasuredClass } from "../src/gpu/measure_variants.ts";

/** What a result depends on besides the kernels. */
export interface DeviceRecord {
  /** With the sizes of subgroups and what the matrix units multiply. */
  readonly info: DeviceInfo;
  readonly limits: DeviceLimits;
  /** Name and version in its own words; null where Vulkan does not tell. */
  readonly driver: string | null;
  readonly system: string;
  /** Of the engine, by what it is part of. */
  readonly versions: Readonly<Record<string, string>>;
  /** What was measured of the kernels' variants, by which they are chosen; empty: as the device suggests. */
  readonly tuning: readonly MeasuredClass[];
}

/** The record of an open device. */
export function recordOf(gpu: Gpu, tuning: readonly MeasuredClass[]): DeviceRecord {
  const { info } = gpu;
  return {
    info,
    limits: limitsOf(gpu.device),
    driver: driverOf(info),
    system: `${Deno.build.os} ${Deno.osRelease()}, ${Deno.build.arch}`,
    versions: engineVersions(),
    tuning,
  };
}
