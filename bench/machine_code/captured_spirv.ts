import type { Gpu } from "../../src/gpu/gpu.ts";
import { compile, type KernelSource } from "../../src/gpu/kernel.ts";

/**
 * What the engine hands to the driver for a kernel. Mesa's drivers write every module that they are given into
 * the folder that MESA_SPIRV_DUMP_PATH names.
 *
 * @param gpu on one of Mesa's drivers
 * @param folder named so when the process began
 * @throws Error when the kernel does not compile, or nothing was written
 */
export async function capturedSpirv(
  gpu: Gpu,
  folder: string,
  source: KernelSource,
): Promise<Uint32Array<ArrayBuffer>> {
  for (const { name } of Deno.readDirSync(folder)) Deno.removeSync(`${folder}/${name}`);
  gpu.device.pushErrorScope("validation");
  compile(gpu.device, gpu.info.engine, gpu.tuning, source);
  const error = await gpu.device.popErrorScope();
  if (error) throw new Error(`${source.label} does not compile: ${error.message}`);
  const [written, ...others] = [...Deno.readDirSync(folder)];
  if (written === undefined || others.length > 0) {
    throw new Error(
      `${source.label}: the driver wrote ${others.length + 1} modules instead of one`,
    );
  }
  return new Uint32Array(Deno.readFileSync(`${folder}/${written.name}`).buffer);
}
