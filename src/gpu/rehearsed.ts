import { KernelTable } from "./kernel_table.ts";
import { AskedClasses } from "./variants.ts";

/** What rehearsals of work found out for the GPU that will do it. */
export class Rehearsed {
  /** Which classes of shapes it has. */
  classes = new AskedClasses();
  /** Which kernels it launched. */
  kernels = new KernelTable();

  /** What was rehearsed so far is not what will be done. */
  forget(): void {
    this.classes = new AskedClasses();
    this.kernels = new KernelTable();
  }
}
