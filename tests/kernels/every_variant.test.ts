import assert from "node:assert/strict";
import { everyKernel } from "../../bench/machine_code/every_kernel.ts";
import { hardware, launchedKernels } from "../../bench/machine_code/model_kernels.ts";
import { variantName } from "../../bench/machine_code/kernel_code.ts";
import { textsOf } from "../../bench/machine_code/translate/every_text.ts";
import { translate } from "../../bench/machine_code/translate/naga.ts";
import { UserError } from "../../src/base/user_error.ts";
import { nagaVersion } from "../../src/cli/dev/naga.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import { compile, type KernelSource, kernelText } from "../../src/gpu/kernel.ts";
import { limitsThatShow } from "../../src/gpu/rehearsal.ts";
import { tinyConfig } from "../model/tiny_model.ts";
import { gpuOf, onEveryGpu } from "./harness.ts";
import { onMatrixUnits } from "./on_matrix_units.ts";

/** What sampling and training launch on these lanes, on those of a driver with subgroups of 4, and on a GPU's, each once. */
async function kernelsOf(gpu: Gpu): Promise<KernelSource[]> {
  const roomy = { maxStorageBufferBindingSize: 2 ** 31 - 4, maxBufferSize: 2 ** 31 - 4 };
  const limits = { ...limitsThatShow(gpu.device.limits), ...roomy };
  const narrow = { ...gpu.info, int64: false, subgroupMinSize: 4, subgroupMaxSize: 4 };
  const sources = [
    await everyKernel((cacheDtype) => Gpu.rehearsalOf(gpu.info, limits, { cacheDtype })),
    await everyKernel((cacheDtype) => Gpu.rehearsalOf(narrow, limits, { cacheDtype })),
    await everyKernel((cacheDtype) => hardware(gpu.info.engine, "f32", cacheDtype)),
  ].flat();
  return [
    ...new Map(
      sources.map((source) => [`${source.code} ${JSON.stringify(source.defines)}`, source]),
    )
      .values(),
  ];
}

/** What every WebGPU grants a stage. */
const mostStorageBuffers = 8;

/** Found out once, for both engines. */
let kernels: Promise<KernelSource[]> | null = null;

onEveryGpu(
  "every kernel that models launch compiles, for a CPU's lanes and for a GPU's",
  async (gpu) => {
    kernels ??= gpuOf("native").then(kernelsOf);
    const sources = await kernels;
    assert.ok(sources.length > 150, `${sources.length} kernels`);
    for (const source of sources) {
      // Only the native engine has 64-bit loads.
      const defines = { ...source.defines, WIDE: source.defines?.WIDE === true && gpu.info.int64 };
      gpu.device.pushErrorScope("validation");
      const { bindings } = compile(gpu.device, gpu.info.engine, gpu.tuning, { ...source, defines });
      const buffers = bindings.filter(({ kind }) => kind !== "uniform").length;
      assert.ok(buffers <= mostStorageBuffers, `${variantName(source)} takes ${buffers} buffers`);
      const error = await gpu.device.popErrorScope();
      assert.equal(error?.message, undefined, variantName(source));
    }
  },
);

/** What Metal tells the engine. */
const apple = {
  ...hardware("dawn").info,
  ...{ name: "Apple", vendor: "apple", subgroupMatrix: true },
  subgroupMatrixConfigs: [{
    ...{ M: 8, N: 8, K: 8, componentType: "f32", resultComponentType: "f32" },
  }],
};

// No driver here has such matrices; Dawn says anyway that the texts are right WGSL.
onMatrixUnits(
  "what a model launches on matrices of f32 is WGSL that Dawn takes",
  ["f16"],
  async (gpu) => {
    const limits = {
      ...limitsThatShow(gpu.device.limits),
      maxStorageBufferBindingSize: 2 ** 31 - 4,
    };
    const config = { ...tinyConfig, maxPositions: 4096 };
    const rehearsal = () => Gpu.rehearsalOf(apple, limits, { precision: "f32-matrix" });
    const sources = [
      ...await launchedKernels(rehearsal(), config, { isTrainedWhole: true }),
      ...await launchedKernels(rehearsal(), config, { isTrainedWhole: false, storage: "q4k" }),
    ];
    const texts = sources.map((source) => {
      const defines = { ...source.defines, WIDE: false };
      return { name: variantName(source), ...kernelText("dawn", { ...source, defines }) };
    }).filter(({ usesMatrices }) => usesMatrices);
    assert.ok(texts.length > 20, `${texts.length} kernels`);
    for (const { name, code } of texts) {
      const { messages } = await gpu.device.createShaderModule({ code }).getCompilationInfo();
      assert.deepEqual(messages.map(({ message }) => message), [], name);
      assert.match(code, /alias Element = f32;/, name);
    }
  },
);

const refusal = await nagaVersion().then(() => null, (error) => {
  if (!(error instanceof UserError)) throw error;
  return error.message;
});
if (refusal !== null) console.log(`Translations are not tested: ${refusal}`);

// Ten quiet seconds.
Deno.test({
  name: "naga translates every kernel that models launch to SPIR-V, MSL and HLSL",
  ignore: refusal !== null,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    kernels ??= gpuOf("native").then(kernelsOf);
    const folder = await Deno.makeTempDir();
    const texts = textsOf(await kernels);
    assert.ok(texts.length > 300, `${texts.length} texts`);
    for (const { name, code } of texts) {
      assert.deepEqual(await translate(`${folder}/kernel`, code), {}, name);
    }
    await Deno.remove(folder, { recursive: true });
  },
});

Deno.test({
  name: "what naga cannot translate is told with its message, for each language",
  ignore: refusal !== null,
  fn: async () => {
    const folder = await Deno.makeTempDir();
    const failures = await translate(`${folder}/kernel`, "fn main() { let x: u32 = 1.5; }");
    assert.deepEqual(Object.keys(failures), ["spv", "metal", "hlsl"]);
    assert.match(failures.hlsl ?? "", /u32/);
    await Deno.remove(folder, { recursive: true });
  },
});
