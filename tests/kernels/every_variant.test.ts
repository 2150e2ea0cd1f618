import assert from "node:assert/strict";
import { everyKernel } from "../../bench/machine_code/every_kernel.ts";
import { hardware } from "../../bench/machine_code/model_kernels.ts";
import { variantName } from "../../bench/machine_code/kernel_code.ts";
import { textsOf } from "../../bench/machine_code/translate/every_text.ts";
import { translate } from "../../bench/machine_code/translate/naga.ts";
import { UserError } from "../../src/base/user_error.ts";
import { nagaVersion } from "../../src/cli/dev/naga.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import { compile, type KernelSource } from "../../src/gpu/kernel.ts";
import { limitsThatShow } from "../../src/gpu/rehearsal.ts";
import { gpuOf, onEveryGpu } from "./harness.ts";

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
