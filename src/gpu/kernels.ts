import type { EngineName } from "./adapter.ts";
import type { ErrorScopes } from "./error_scopes.ts";
import { compile, compileAside, type Kernel, type KernelSource } from "./kernel.ts";
import type { KernelTable } from "./kernel_table.ts";
import type { Rehearsed } from "./rehearsed.ts";
import type { Tuning } from "./tuning.ts";

/** The kernels of a device, compiled when they are first launched or, if a rehearsal launched them, before. */
export class Kernels {
  /**
   * @param table of those that are compiled
   * @param rehearsals which kernels they launched
   */
  constructor(
    private readonly device: GPUDevice,
    private readonly engine: EngineName,
    private readonly tuning: Tuning,
    private readonly errors: ErrorScopes,
    private readonly table: KernelTable,
    private readonly rehearsals: Rehearsed,
  ) {}

  /** Kernels launched or compiled so far, each once, in the order in which they were made. */
  get all(): readonly Kernel[] {
    return this.table.all;
  }

  /** The kernel of a source. A fault in its text is told at the next read. */
  get(source: KernelSource): Kernel {
    return this.table.get(source, this.#compile);
  }

  /** See `Gpu.compileRehearsed`. */
  async compileRehearsed(): Promise<void> {
    if (this.engine === "native") return;
    const missing = this.rehearsals.kernels.sources.filter((source) => !this.table.has(source));
    await Promise.all(missing.map((source) => this.#compileAside(source)));
  }

  readonly #compile = (source: KernelSource): Kernel =>
    this.errors.within(
      fault(source),
      () => compile(this.device, this.engine, this.tuning, source),
    );

  async #compileAside(source: KernelSource): Promise<void> {
    try {
      const aside = () => compileAside(this.device, this.engine, this.tuning, source);
      const kernel = await this.errors.within(fault(source), aside);
      this.table.get(source, () => kernel);
    } catch (cause) {
      // The error scope was told what is wrong with the text.
      throw await this.errors.settle() ?? new Error(`${fault(source)}: ${cause}`, { cause });
    }
  }
}

const fault = ({ label }: KernelSource) => `kernel ${label} does not compile`;
