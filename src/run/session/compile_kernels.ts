import type { Communicator } from "../../distributed/communicator.ts";
import type { Gpu } from "../../gpu/gpu.ts";

/** Milliseconds of waiting for which nobody wants an explanation. */
const unexplained = 1000;

/** The ranks that compile, and who is told. */
export interface CompilingRun {
  readonly ranks: Communicator;
  /** Told on the first rank when it takes longer than a second. */
  readonly tell?: (line: string) => void;
}

/**
 * Compiles what a run launched in its rehearsal, before its first step. All ranks call it.
 *
 * @throws Error that names the kernel that does not compile
 */
export async function compileKernels(gpu: Gpu, { ranks, tell }: CompilingRun): Promise<void> {
  const explain = () => {
    if (ranks.rank === 0) tell?.("Compiling the kernels of this run ...");
  };
  const timer = setTimeout(explain, unexplained);
  try {
    await gpu.compileRehearsed();
  } finally {
    clearTimeout(timer);
  }
}
