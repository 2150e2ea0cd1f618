import { KernelTable } from "./kernel_table.ts";
import { AskedClasses } from "./variants.ts";

/** Kernels and classes of shapes that rehearsals met, for the GPU that will do the work. */
export class Rehearsed {
  classes = new AskedClasses();
  kernels = new KernelTable();

  /** Forgets all rehearsals so far: the work will be another. */
  forget(): void {
    this.classes = new AskedClasses();
    this.kernels = new KernelTable();
  }
}
