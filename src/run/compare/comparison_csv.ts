import { reachOf, readRow } from "./comparison_results.ts";
import type { RunRow } from "./run_row.ts";

const CSV_HEAD = [
  "arm",
  "seed",
  "problems",
  "training_steps",
  "generator_steps",
  "training_seconds",
  "start_accuracy",
  "final_accuracy",
  "final_sound_accuracy",
  "last_five_accuracy",
  "area_under_curve",
  "steps_to_target",
  "seconds_to_target",
  "tokens_to_target",
  "verdict_balanced_accuracy",
  "step_balanced_accuracy",
  "step_auroc_in_wrong",
  "first_error_accuracy",
  "verdict_is_conjunction",
  "program",
  "chain",
];

/** A line for each run, read at its own end; a cell without a value is empty. */
export function csvOf(rows: readonly RunRow[], target: number | null): string {
  const lines = rows.map((row) => {
    const { end, sound } = readRow(row, { generatorSteps: null, seconds: null });
    const last = row.evaluations[row.evaluations.length - 1];
    const reach = target === null ? null : reachOf(row, target);
    return [
      row.arm,
      row.seed,
      row.problems,
      row.steps,
      row.generatorSteps,
      row.seconds,
      row.evaluations[0].accuracy,
      end.value,
      sound,
      end.lastFive,
      end.area,
      reach?.steps,
      reach?.seconds,
      reach?.tokens,
      last.verdicts,
      last.steps,
      last.stepAurocInWrong,
      last.firstError,
      last.consistency,
      row.program,
      row.chain,
    ].map((cell) => cell ?? "").join(",");
  });
  return [CSV_HEAD.join(","), ...lines, ""].join("\n");
}
