import type { EngineName } from "./adapter.ts";
import { scoped } from "./error_scopes.ts";
import { type Binding, type Defines, type ParameterField, reflect, specialise } from "./wgsl.ts";

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
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  readonly bindings: readonly Binding[];
  readonly parameters: readonly ParameterField[];
  /** Bytes of the uniform struct; 0 when there is none. */
  readonly parameterBytes: number;
}

const textIds = new Map<string, number>();

/** The same text and defines give the same kernel, whatever the label. */
export function kernelKey({ code, defines = {} }: KernelSource): string {
  let id = textIds.get(code);
  if (id === undefined) textIds.set(code, id = textIds.size);
  return `${id}|${JSON.stringify(defines)}`;
}

interface Prepared {
  readonly label: string;
  readonly layout: GPUBindGroupLayout;
  readonly bindings: readonly Binding[];
  readonly parameters: readonly ParameterField[];
  readonly descriptor: GPUComputePipelineDescriptor;
}

function prepare(device: GPUDevice, engine: EngineName, source: KernelSource): Prepared {
  let code = specialise(source.code, source.defines ?? {});
  const { bindings, parameters, usesSubgroups, usesF16 } = reflect(code);
  // Dawn wants the directive, the native compiler rejects it.
  if (usesSubgroups && engine === "dawn") code = `enable subgroups;\n${code}`;
  if (usesF16) code = `enable f16;\n${code}`;
  const { label } = source;
  const layout = device.createBindGroupLayout({
    label,
    entries: bindings.map((binding) => ({
      binding: binding.binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: binding.kind === "uniform"
        ? {
          type: "uniform" as const,
          hasDynamicOffset: true,
          minBindingSize: parameters.length * 4,
        }
        : { type: binding.kind === "read" ? "read-only-storage" as const : "storage" as const },
    })),
  });
  const descriptor: GPUComputePipelineDescriptor = {
    label,
    layout: device.createPipelineLayout({ label, bindGroupLayouts: [layout] }),
    compute: { module: device.createShaderModule({ label, code }), entryPoint: "main" },
  };
  return { label, layout, bindings, parameters, descriptor };
}

let nextKernelId = 1;

function finish(prepared: Prepared, pipeline: GPUComputePipeline): Kernel {
  const { label, layout, bindings, parameters } = prepared;
  const parameterBytes = parameters.length * 4;
  return { id: nextKernelId++, label, pipeline, layout, bindings, parameters, parameterBytes };
}

/** Compiles at once. A fault in the text is reported to the error scope that is open. */
export function compile(device: GPUDevice, engine: EngineName, source: KernelSource): Kernel {
  const prepared = prepare(device, engine, source);
  return finish(prepared, device.createComputePipeline(prepared.descriptor));
}

/**
 * Compiles in the background, beside others.
 *
 * @throws Error naming the kernel when its text does not compile
 */
export async function compileAsync(
  device: GPUDevice,
  engine: EngineName,
  source: KernelSource,
): Promise<Kernel> {
  // The scope has the compiler's words; the rejected promise says only that something was invalid.
  const { result, error } = scoped(device, () => {
    const prepared = prepare(device, engine, source);
    const pipeline = device.createComputePipelineAsync(prepared.descriptor);
    return { prepared, pipeline: pipeline.catch((cause: Error) => cause) };
  });
  const pipeline = await result.pipeline;
  const fault = await error ?? (pipeline instanceof Error ? pipeline : null);
  if (fault || pipeline instanceof Error) {
    throw new Error(`kernel ${source.label} does not compile: ${fault?.message}`, { cause: fault });
  }
  return finish(result.prepared, pipeline);
}
