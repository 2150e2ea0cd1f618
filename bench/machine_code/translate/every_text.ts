import { Gpu } from "../../../src/gpu/gpu.ts";
import { type KernelSource, kernelText } from "../../../src/gpu/kernel.ts";
import { limitsThatShow } from "../../../src/gpu/rehearsal.ts";
import type { CacheDtype } from "../../../src/gpu/tensor.ts";
import { everyKernel } from "../every_kernel.ts";
import { variantName } from "../kernel_code.ts";
import { hardware } from "../model_kernels.ts";

/** A kernel's text as it is translated. */
export interface KernelText {
  readonly name: string;
  readonly code: string;
  readonly storageBuffers: number;
  readonly usesMatrices: boolean;
}

/** The lanes of a CPU core, as Mesa's software driver shows them. */
const cpu = (cacheDtype: CacheDtype) =>
  Gpu.rehearsalOf({
    ...hardware("native").info,
    ...{ name: "CPU", vendor: "", software: true, int64: true },
    ...{ subgroupMinSize: 8, subgroupMaxSize: 8 },
  }, {
    ...{ maxStorageBufferBindingSize: 2 ** 31 - 4, maxBufferSize: 2 ** 31 - 4 },
    minUniformBufferOffsetAlignment: 64,
    maxComputeWorkgroupStorageSize: 32 * 1024,
    maxComputeInvocationsPerWorkgroup: 1024,
  }, { cacheDtype });

/** Those of drivers with subgroups of 4, as Direct3D's (WARP) and SwiftShader. */
const narrowCpu = (cacheDtype: CacheDtype) => {
  const { info, device } = cpu(cacheDtype);
  const narrow = { name: "narrow CPU", int64: false, subgroupMinSize: 4, subgroupMaxSize: 4 };
  return Gpu.rehearsalOf({ ...info, ...narrow }, limitsThatShow(device.limits), { cacheDtype });
};

/** A GPU with nothing beyond what WebGPU promises, but for the size of its buffers. */
const promised = (cacheDtype: CacheDtype) =>
  Gpu.rehearsalOf({
    ...hardware("native").info,
    ...{ name: "promised", vendor: "", subgroups: false, f16: false },
  }, {
    ...{ maxStorageBufferBindingSize: 2 ** 31 - 4, maxBufferSize: 2 ** 31 - 4 },
    minUniformBufferOffsetAlignment: 256,
  }, { cacheDtype });

/**
 * Every text that the engines are handed, on CPU and GPU lanes, on a device with little and on one with matrix units.
 * The two engines' differ in one directive, which naga does not read, and in loads of 64 bits, which the native one
 * alone has.
 */
export async function everyText(): Promise<KernelText[]> {
  const devices = [
    cpu,
    narrowCpu,
    (cacheDtype: CacheDtype) => hardware("native", "f32", cacheDtype),
    promised,
    (cacheDtype: CacheDtype) => hardware("dawn", "f16", cacheDtype),
    (cacheDtype: CacheDtype) => hardware("dawn", "f16-pair", cacheDtype),
  ];
  const sources: KernelSource[] = [];
  for (const device of devices) sources.push(...await everyKernel(device));
  return textsOf(sources);
}

/** The texts of kernels, each once, with loads of 64 bits and without. */
export function textsOf(sources: readonly KernelSource[]): KernelText[] {
  const texts = new Map<string, KernelText>();
  for (const source of sources) {
    for (const WIDE of source.defines?.WIDE === true ? [true, false] : [false]) {
      const variant = { ...source, defines: { ...source.defines, WIDE } };
      const { code, bindings, usesMatrices } = kernelText("native", variant);
      const storageBuffers = bindings.filter(({ kind }) => kind !== "uniform").length;
      texts.set(code, { name: variantName(variant), code, storageBuffers, usesMatrices });
    }
  }
  return [...texts.values()];
}
