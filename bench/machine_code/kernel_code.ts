import type { KernelSource } from "../../src/gpu/kernel.ts";
import { type InnerLoop, innerLoop, type NestedLoop, nestedLoops } from "./inner_loop.ts";
import type { CompiledKernel } from "./vulkan_compiler.ts";

/** What a compiler made of a kernel variant. */
export interface KernelCode {
  /** As it is launched, with the values it is specialised with. */
  readonly kernel: string;
  /** Which launch it. */
  readonly models: readonly string[];
  /** Lanes of a subgroup. */
  readonly subgroup: number;
  /** Registers of a lane. */
  readonly vgprs: number;
  /** Registers of a subgroup; null where the compiler does not tell. */
  readonly sgprs: number | null;
  /** Registers that were put elsewhere. */
  readonly spills: number;
  /** Bytes of a subgroup's memory outside its registers. */
  readonly scratch: number;
  /** Bytes of memory that a workgroup shares; null where the compiler does not tell. */
  readonly workgroupBytes: number | null;
  readonly instructions: number;
  /** Subgroups that a SIMD unit of AMD's, or a core of NVIDIA's, holds at once. */
  readonly waves: number;
  /** Where it multiplies and adds; null when it has no such loop. */
  readonly loop: InnerLoop | null;
  /** All its loops, in the order in which they begin. */
  readonly loops: readonly NestedLoop[];
}

/** A kernel variant's name: its label and what it is specialised with. */
export function variantName({ label, defines = {} }: KernelSource): string {
  const values = Object.entries(defines).filter(([, value]) => value !== false);
  return [label, ...values.map(([name, value]) => value === true ? name : `${name}=${value}`)].join(
    " ",
  );
}

/** @throws Error when the driver does not tell it */
export function statistic(statistics: CompiledKernel["statistics"], name: string): number {
  const value = statistics.get(name);
  if (value === undefined) throw new Error(`the driver does not tell "${name}"`);
  return value;
}

/** Reads what Mesa's RADV says of a kernel. */
export function kernelCode(
  source: KernelSource,
  models: readonly string[],
  { subgroupSize, statistics, assembly }: CompiledKernel,
): KernelCode {
  const read = (name: string) => statistic(statistics, name);
  const loops = nestedLoops(assembly);
  return {
    kernel: variantName(source),
    models,
    subgroup: subgroupSize,
    vgprs: read("VGPRs"),
    sgprs: read("SGPRs"),
    spills: read("Spilled VGPRs") + read("Spilled SGPRs"),
    scratch: read("Scratch size"),
    workgroupBytes: read("LDS size"),
    instructions: read("Instructions"),
    waves: read("Subgroups per SIMD"),
    loop: innerLoop(loops),
    loops,
  };
}
