import { quantisedTypes } from "../../src/gpu/tensor.ts";
import assert from "node:assert/strict";
import { hardware, launchedKernels } from "../../bench/machine_code/model_kernels.ts";
import { variantName } from "../../bench/machine_code/kernel_code.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import { compile, type KernelSource } from "../../src/gpu/kernel.ts";
import { limitsThatShow } from "../../src/gpu/rehearsal.ts";
import { kernelTrials } from "../../src/kernels/choice/trials.ts";
import { tinyConfig } from "../model/tiny_model.ts";
import { gpuOf, onEveryGpu } from "./harness.ts";

/** Head sizes 16, 64 and 128, with biases and with norms of queries and keys, narrow and wide. */
const models = [
  { headDim: 16, hiddenSize: 64, heads: 4, intermediateSize: 128, vocabularySize: 200 },
  { headDim: 64, hiddenSize: 512, heads: 8, intermediateSize: 1536, vocabularySize: 3000 },
  { headDim: 128, hiddenSize: 1536, heads: 12, intermediateSize: 2560, vocabularySize: 3000 },
].map((shape, index) => ({
  ...tinyConfig,
  ...shape,
  layers: 1,
  maxPositions: 4096,
  qkNorm: index === 2,
  qkvBias: index === 0,
  tiedEmbeddings: index === 1,
}));

/** What sampling and training launch on these lanes, and what would be measured there. */
async function kernelsOf(gpu: Gpu): Promise<KernelSource[]> {
  const roomy = { maxStorageBufferBindingSize: 2 ** 31 - 4, maxBufferSize: 2 ** 31 - 4 };
  const sources = new Map<string, KernelSource>();
  for (const config of models) {
    const packed = (["f16", "bf16"] as const).flatMap((cacheDtype) => [
      Gpu.rehearsalOf(gpu.info, { ...limitsThatShow(gpu.device.limits), ...roomy }, { cacheDtype }),
      hardware(gpu.info.engine, "f32", cacheDtype),
    ]);
    const inFloats = [gpu.rehearsal(roomy), hardware(gpu.info.engine)];
    for (const rehearsal of config.headDim === 64 ? [...inFloats, ...packed] : inFloats) {
      await launchedKernels(rehearsal, config, { isTrainedWhole: true });
      if (config.headDim === 64 && rehearsal.cacheDtype === "f32") {
        for (const storage of quantisedTypes) {
          await launchedKernels(rehearsal, config, { isTrainedWhole: false, storage });
        }
      }
      for (const trials of kernelTrials) {
        for (const { shape } of rehearsal.rehearsed.of(trials.operation)) {
          const trial = trials.prepare(rehearsal, shape);
          for (const variant of trial.variants) trial.launch(variant);
          trial.release();
        }
      }
      for (const { source } of rehearsal.kernels) {
        sources.set(`${source.code} ${JSON.stringify(source.defines)}`, source);
      }
    }
  }
  return [...sources.values()];
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
