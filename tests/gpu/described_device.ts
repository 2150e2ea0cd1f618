import type { DeviceInfo } from "../../src/gpu/adapter.ts";

/** A device of GPU lanes, or of a CPU's where it is a software driver. */
export function describedDevice(software: boolean, lanesOfSubgroup: number): DeviceInfo {
  return {
    engine: "native",
    name: "described",
    vendor: "",
    software,
    subgroups: lanesOfSubgroup > 0,
    subgroupMinSize: lanesOfSubgroup,
    subgroupMaxSize: lanesOfSubgroup,
    subgroupSizeControl: false,
    f16: false,
    int64: software,
    subgroupMatrix: false,
    subgroupMatrixConfigs: [],
  };
}
