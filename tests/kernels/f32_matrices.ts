import { openDevice } from "../../src/gpu/adapter.ts";
import { Gpu } from "../../src/gpu/gpu.ts";

/**
 * A device that multiplies matrices of f32, as Apple's do. Where there is none, one with matrices of f16 stands in, which
 * has the same results of numbers that f16 holds: a kernel says in one place what its matrices are of, and that is
 * exchanged in the text that Dawn is given.
 */
export async function openWithF32Matrices(): Promise<Gpu> {
  const { device, info } = await openDevice("dawn");
  const has = info.subgroupMatrixConfigs.some((one) =>
    one.componentType === "f32" && one.resultComponentType === "f32"
  );
  if (has) return await Gpu.on({ device, info }, { precision: "f32-matrix" });
  const make = device.createShaderModule.bind(device);
  device.createShaderModule = (descriptor) =>
    make({ ...descriptor, code: withF16Matrices(descriptor.code) });
  const subgroupMatrixConfigs = info.subgroupMatrixConfigs
    .filter((one) => one.componentType === "f16" && one.resultComponentType === "f32")
    .map((one) => ({ ...one, componentType: "f32" }));
  const gpu = await Gpu.on({ device, info: { ...info, subgroupMatrixConfigs } }, {
    precision: "f32-matrix",
  });
  standIns.add(gpu);
  return gpu;
}

/** Whether matrices of f16 stand in, so that factors lose bits that the device's own would keep. */
export const areStandIns = (gpu: Gpu): boolean => standIns.has(gpu);

const standIns = new WeakSet<Gpu>();

const element = "alias Element = f32;";

function withF16Matrices(code: string): string {
  return code.includes(element)
    ? `enable f16;\n${code.replace(element, "alias Element = f16;")}`
    : code;
}
