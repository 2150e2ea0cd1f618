import { Failure } from "../base/failure.ts";
import { GpuFailure } from "../gpu/gpu_failure.ts";
import { GradingFailure } from "../grading/grading_failure.ts";
import { Divergence } from "../run/health/divergence.ts";
import { latestCheckpoint } from "../run/store/checkpoint.ts";
import type { RunFolder } from "../run/store/run_folder.ts";

/** A command that keeps runs. */
export type RunCommand = "train" | "sft" | "compare";

/**
 * Runs `body`, which only looks at a run where there is no command to go on with; when the GPU or what grades answers gives out in it, or a policy learns no more, the message says what the run has
 * kept and how to go on.
 *
 * @throws Failure in place of a `GpuFailure`, a `GradingFailure` or a `Divergence`
 */
export async function withResumeHint<Result>(
  command: RunCommand | null,
  folder: RunFolder,
  body: () => Promise<Result>,
): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    if (error instanceof GpuFailure || error instanceof GradingFailure) {
      throw new Failure(`${error.message}\n${howToGoOn(command, folder)}`.trimEnd(), {
        cause: error,
      });
    }
    if (error instanceof Divergence && command !== null) {
      const lines = [error.message, ...afterDivergence(command, folder, error)];
      throw new Failure(lines.join("\n"), { cause: error });
    }
    throw error;
  }
}

/** What a run has kept so far, and how to go on with it; nothing of one that has not been begun, or is only looked at. */
export function howToGoOn(command: RunCommand | null, folder: RunFolder): string {
  if (command === null || !folder.isUsed) return "";
  const kept = command === "compare" ? "Each of its runs has its checkpoints." : keptOf(folder);
  return `${kept} Continue with: ./tango ${command} --run ${folder.path} --resume`;
}

function keptOf({ checkpoints }: RunFolder): string {
  const checkpoint = latestCheckpoint(checkpoints);
  return checkpoint
    ? `The last checkpoint is ${checkpoint.path} (step ${checkpoint.step}).`
    : "There is no checkpoint yet, so it will begin anew.";
}

/** What the advice of a divergence comes to as commands. */
function afterDivergence(
  command: RunCommand,
  folder: RunFolder,
  { optimizerKey, lastUpdate }: Divergence,
): string[] {
  if (optimizerKey === null) return [];
  const setting = `${optimizerKey}.learning_rate`;
  const checkpoint = latestCheckpoint(folder.checkpoints);
  if (checkpoint === null && lastUpdate === null) return [];
  const advice = `${keptOf(folder)} Continue with a lower learning rate: ./tango ${command} ` +
    `--run ${folder.path} --resume --set ${setting}=…`;
  // No update took effect after it, so it holds the very weights that do not learn.
  return checkpoint && (lastUpdate ?? 0) <= checkpoint.step
    ? [
      advice,
      `If that ends in the same way, remove ${checkpoint.path} to go on from the one before.`,
    ]
    : [advice];
}
