import type { EngineName } from "./adapter.ts";
import type { Tuning } from "./tuning.ts";
import {
  type Binding,
  type Defines,
  type ParameterField,
  reflect,
  type Reflection,
  specialise,
} from "./wgsl.ts";

/** A kernel's text and how it is specialised; what `Gpu.kernel` turns into a pipeline. */
export interface KernelSource {
  /** Shown in errors and profiles. */
  readonly label: string;
  /** WGSL text; the entry point is `main`. */
  readonly code: string;
  readonly defines?: Defines;
}

/** A compiled kernel with what is needed to launch it. */
export interface Kernel {
  readonly id: number;
  readonly label: string;
  readonly source: KernelSource;
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  readonly bindings: readonly Binding[];
  readonly parameters: readonly ParameterField[];
  /** Bytes of the uniform struct; 0 when there is none. */
  readonly parameterBytes: number;
}

let nextKernelId = 1;

/** Compiles a kernel, with `WIDE` among its defines. A fault in its text is reported to the error scope that is open. */
export function compile(
  device: GPUDevice,
  engine: EngineName,
  tuning: Tuning,
  asked: KernelSource,
): Kernel {
  const { descriptor, ...rest } = describe(device, engine, tuning, asked);
  return { ...rest, pipeline: device.createComputePipeline(descriptor) };
}

/** As `compile`, beside other work. @throws what the driver says when the kernel does not compile */
export function compileAside(
  device: GPUDevice,
  engine: EngineName,
  tuning: Tuning,
  asked: KernelSource,
): Promise<Kernel> {
  const { descriptor, ...rest } = describe(device, engine, tuning, asked);
  return device.createComputePipelineAsync(descriptor).then((pipeline) => ({ ...rest, pipeline }));
}

/** The WGSL that an engine is handed for a kernel whose defines are complete, with what it declares. */
export function kernelText(
  engine: EngineName,
  source: KernelSource,
): Reflection & { readonly code: string } {
  let code = specialise(source.code, source.defines ?? {});
  const reflection = reflect(code);
  const { usesSubgroups, usesF16, usesMatrices, pinsSubgroups } = reflection;
  // Dawn wants the directive, the native compiler rejects it.
  if (usesSubgroups && engine === "dawn") code = `enable subgroups;\n${code}`;
  if (usesF16) code = `enable f16;\n${code}`;
  if (pinsSubgroups) code = `enable subgroup_size_control;\n${code}`;
  if (usesMatrices) code = `enable chromium_experimental_subgroup_matrix;\n${code}`;
  return { ...reflection, code };
}

/** A kernel without its pipeline, and what that is made of. */
function describe(device: GPUDevice, engine: EngineName, tuning: Tuning, asked: KernelSource) {
  const defines = { WIDE: tuning.wideLoads, ...asked.defines };
  const source = { ...asked, defines };
  const { code, bindings, parameters } = kernelText(engine, source);
  const { label } = source;
  const parameterBytes = parameters.length * 4;
  const layout = device.createBindGroupLayout({
    label,
    entries: bindings.map((binding) => ({
      binding: binding.binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: binding.kind === "uniform"
        ? { type: "uniform" as const, hasDynamicOffset: true, minBindingSize: parameterBytes }
        : { type: binding.kind === "read" ? "read-only-storage" as const : "storage" as const },
    })),
  });
  const descriptor: GPUComputePipelineDescriptor = {
    label,
    layout: device.createPipelineLayout({ label, bindGroupLayouts: [layout] }),
    compute: { module: device.createShaderModule({ label, code }), entryPoint: "main" },
  };
  return {
    id: nextKernelId++,
    label,
    source,
    descriptor,
    layout,
    bindings,
    parameters,
    parameterBytes,
  };
}
