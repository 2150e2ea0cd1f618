import { Gpu } from "../../src/gpu/gpu.ts";
import type { Precision } from "../../src/gpu/tuning.ts";
import { openWithF32Matrices } from "./f32_matrices.ts";
import { gpuOf, testedEngines } from "./harness.ts";

const opened = new Map<Precision, Promise<Gpu>>();

/**
 * One test per precision on a device that multiplies in it: Dawn's, which on lavapipe shows matrix units from Mesa 26
 * on. Skipped, with a word, where there are none. Outside the folders of the GPU and the kernels the first precision
 * stands for the others, whose kernels compile for long, unless all engines are asked for.
 */
export function onMatrixUnits(
  name: string,
  precisions: readonly Exclude<Precision, "f32">[],
  body: (gpu: Gpu, precision: Exclude<Precision, "f32">) => Promise<void>,
): void {
  for (const precision of testedEngines.includes("dawn") ? precisions : precisions.slice(0, 1)) {
    Deno.test({
      name: `${name} [${precision}]`,
      // The device and Dawn's polling outlive a test on purpose: they are opened once per process.
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () => {
        const { info } = await gpuOf("dawn");
        if (info.subgroupMatrixConfigs.length === 0) {
          console.warn(`SKIPPED: the Dawn engine shows no matrix units of ${info.name}`);
          return;
        }
        let gpu = opened.get(precision);
        if (!gpu) opened.set(precision, gpu = openWith(precision));
        await body(await gpu, precision);
      },
    });
  }
}

const openWith = (precision: Precision) =>
  precision === "f32-matrix" ? openWithF32Matrices() : Gpu.open("dawn", { precision });
