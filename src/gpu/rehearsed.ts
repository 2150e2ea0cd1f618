import { KernelTable } from "./kernel_table.ts";
import { AskedClasses } from "./variants.ts";

/** What rehearsals of work found out for the GPU that will do it. */
export class Rehearsed {
  /** Which classes of shapes it has. */
  readonly classes = new AskedClasses();
  /** Which kernels it launched. */
  readonly kernels = new KernelTable();
}
