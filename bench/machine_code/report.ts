import { alignedTable } from "../../src/base/table.ts";
import type { EngineName } from "../../src/gpu/adapter.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import type { KernelSource } from "../../src/gpu/kernel.ts";
import type { Precision } from "../../src/gpu/tuning.ts";
import { capturedSpirv } from "./captured_spirv.ts";
import {
  multipliesMatrices,
  requireSmallMatrices,
  withMatrixSize,
  withSmallMatrices,
} from "./matrix_spirv.ts";
import type { CompiledGpu } from "../../src/cli/dev/gpu_compiler.ts";
import { filtered } from "./filtered.ts";
import { type KernelCode, kernelCode, variantName } from "./kernel_code.ts";
import { nvidiaKernelCode } from "./nvidia_code.ts";
import { hardware, judgedModels, modelKernels } from "./model_kernels.ts";
import { launchTable } from "./decode_launches.ts";
import { shareTables } from "./share_tables.ts";
import { VulkanCompiler } from "./vulkan_compiler.ts";

/** What is asked of a report. */
export interface ReportOptions {
  readonly gpu: EngineName;
  /** f32: all kernels; another: those on matrix units alone. */
  readonly precision: Precision;
  /** Only variants whose names hold this. */
  readonly filter: string;
  /** Where to write it. */
  readonly json?: string;
  /** Where to write the machine code. */
  readonly assembly?: string;
  /** Which GPU is compiled for. */
  readonly for: CompiledGpu;
  /** The compiler's library, and its name with the version. */
  readonly library: string;
  readonly compiler: string;
}

/** What --json writes. */
export interface MachineCodeFile {
  readonly compiler: string;
  readonly device: string;
  readonly engine: EngineName;
  readonly precision: Precision;
  readonly kernels: readonly Omit<KernelCode, "loops">[];
}

/** Compiles the models' kernels, prints a row for each and writes the report. */
export async function reportMachineCode(options: ReportOptions): Promise<void> {
  const { gpu: engine, precision, json, assembly, library, filter } = options;
  const variants = await kernelsOfModels(options);
  const folder = Deno.makeTempDirSync({ prefix: "tango-spirv-" });
  // Read by the driver when it is loaded.
  Deno.env.set("MESA_SPIRV_DUMP_PATH", folder);
  const compiler = VulkanCompiler.open(library);
  const gpu = await Gpu.open(engine);
  if (precision !== "f32") requireSmallMatrices(gpu.info);
  const read = options.for === "ga102" ? nvidiaKernelCode : kernelCode;
  const kernels: KernelCode[] = [];
  try {
    for (const { source, models } of variants) {
      const compiled = compiler.compile(await spirvOf(gpu, folder, source));
      kernels.push(read(source, models, compiled));
      if (assembly !== undefined) {
        Deno.mkdirSync(assembly, { recursive: true });
        const name = variantName(source).replace(/[^\w.=-]+/g, "_");
        Deno.writeTextFileSync(`${assembly}/${name}.s`, compiled.assembly);
      }
    }
  } finally {
    gpu.close();
    Deno.removeSync(folder, { recursive: true });
  }
  const file: MachineCodeFile = {
    compiler: options.compiler,
    device: compiler.name.trim(),
    engine,
    precision,
    kernels: kernels.map(({ loops: _, ...one }) => one),
  };
  console.log(`${file.compiler} · ${file.device} · ${engine} engine, precision ${precision}\n`);
  console.log(table(kernels));
  const isWhole = filter === "" && options.for === "rdna3";
  if (isWhole) console.log(`\n${await launchTable(engine, precision)}`);
  if (isWhole && precision === "f32") {
    console.log(`\n${shareTables(kernels, hardware(engine).tuning)}`);
  }
  if (json !== undefined) Deno.writeTextFileSync(json, `${JSON.stringify(file, null, 2)}\n`);
}

async function spirvOf(gpu: Gpu, folder: string, source: KernelSource) {
  if (!multipliesMatrices(source)) return await capturedSpirv(gpu, folder, source);
  return withMatrixSize(await capturedSpirv(gpu, folder, withSmallMatrices(source)), 16);
}

/** The variants of all models, each with those that launch it; with matrix units those that f32 does not launch. */
async function kernelsOfModels({ gpu: engine, filter, precision }: ReportOptions) {
  const found = new Map<string, { source: KernelSource; models: string[] }>();
  const keyOf = ({ code, defines }: KernelSource) => JSON.stringify([code, defines]);
  for (const model of judgedModels) {
    const inF32 = precision === "f32" ? [] : await modelKernels(model, engine, "f32");
    const others = new Set(inF32.map(keyOf));
    for (const source of await modelKernels(model, engine, precision)) {
      const key = keyOf(source);
      if (others.has(key)) continue;
      const variant = found.get(key) ?? { source, models: [] };
      variant.models.push(model);
      found.set(key, variant);
    }
  }
  return filtered([...found.values()], ({ source }) => variantName(source), filter);
}

function table(kernels: readonly KernelCode[]): string {
  const head = [
    "kernel",
    "lanes",
    "VGPR",
    "SGPR",
    "spills",
    "scratch",
    "shared",
    "instructions",
    "waves",
    "loop",
    "FMA",
  ];
  return alignedTable([
    head,
    ...kernels.map((one) => [
      one.kernel,
      ...[one.subgroup, one.vgprs, one.sgprs, one.spills, one.scratch, one.workgroupBytes].map(
        (value) => String(value ?? ""),
      ),
      String(one.instructions),
      String(one.waves),
      one.loop ? String(one.loop.instructions) : "",
      one.loop ? `${Math.round(100 * one.loop.multiplyAdds / one.loop.instructions)} %` : "",
    ]),
  ]);
}
