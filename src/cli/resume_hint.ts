import { Failure } from "../base/failure.ts";
import { GpuFailure } from "../gpu/gpu_failure.ts";
import { latestCheckpoint } from "../run/store/checkpoint.ts";
import type { RunFolder } from "../run/store/run_folder.ts";

/**
 * Runs `body`; when the GPU gives out in it, the message says what the run has kept and how to go on.
 *
 * @throws Failure in place of a `GpuFailure`
 */
export async function withResumeHint<Result>(
  command: "train" | "sft" | "compare",
  folder: RunFolder,
  body: () => Promise<Result>,
): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    if (!(error instanceof GpuFailure)) throw error;
    const kept = command === "compare" ? "Each of its runs has its checkpoints." : keptOf(folder);
    const hint = `${kept} Continue with: ./tango ${command} --run ${folder.path} --resume`;
    throw new Failure(`${error.message}\n${hint}`, { cause: error });
  }
}

function keptOf({ checkpoints }: RunFolder): string {
  const checkpoint = latestCheckpoint(checkpoints);
  return checkpoint
    ? `The last checkpoint is ${checkpoint.path} (step ${checkpoint.step}).`
    : "There is no checkpoint yet, so it will begin anew.";
}
