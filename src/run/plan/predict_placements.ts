import type { GpuDescription } from "./gpu_description.ts";
import type { PlannedPlacement, PlannedRun } from "./planned_run.ts";
import { predict, type Prediction } from "./prediction.ts";

/**
 * Predictions of both placements: colocated first, then of a quarter, half and three quarters of the ranks for the
 * generator the quickest; that is left out without a verifier or with a single rank.
 *
 * @throws UserError when the ranks and the configuration do not fit together
 */
export function predictPlacements(
  gpu: GpuDescription,
  run: PlannedRun,
  ranks: number,
): Prediction[] {
  const colocated = predict(gpu, run, { kind: "colocated", ranks });
  if (run.verifier === null || ranks === 1) return [colocated];
  const counts = new Set([0.25, 0.5, 0.75].map((part) => Math.round(part * ranks)));
  const splits = [...counts].filter((count) => count > 0 && count < ranks)
    .map((generator): PlannedPlacement => ({
      kind: "split",
      generator,
      verifier: ranks - generator,
    }))
    .map((placement) => predict(gpu, run, placement));
  const quickest = splits.reduce((a, b) => a.meanStepSeconds <= b.meanStepSeconds ? a : b);
  return [colocated, quickest];
}
