import { formatDuration } from "../../base/duration.ts";
import { formatBytes } from "../../base/format_bytes.ts";
import { alignedTable } from "../../base/table.ts";
import type { MeasuredRun, MeasuredStep } from "./measured_run.ts";
import type { PlannedPlacement } from "./planned_run.ts";
import type { PredictedStep, Prediction } from "./prediction.ts";

/** What a rank of a placement takes of its GPU's memory, in words where it cannot be. */
export interface RankMemory {
  /** Which ranks: all, or those of a policy. */
  readonly ranks: string;
  readonly bytes: number | null;
  /** Why there is no number. */
  readonly problem: string | null;
}

/** A prediction with what a rank then needs. */
export interface PlannedMemory {
  readonly prediction: Prediction;
  readonly memory: readonly RankMemory[];
}

const seconds = (value: number): string =>
  value >= 60
    ? formatDuration(value)
    : `${value >= 10 ? value.toFixed(1) : value.toPrecision(3)} s`;
const share = (value: number): string => `${(100 * value).toFixed(1)} %`;

/** `colocated`, `split 6 + 2`. */
export function placementName(placement: PlannedPlacement): string {
  return placement.kind === "colocated"
    ? "colocated"
    : `split ${placement.generator} + ${placement.verifier}`;
}

/** Predictions side by side. @param memoryBytes that a GPU has */
export function formatPredictions(plans: readonly PlannedMemory[], memoryBytes: number): string {
  const row = (what: string, of: (prediction: Prediction) => string) => [
    what,
    ...plans.map(({ prediction }) => of(prediction)),
  ];
  const stepRows = (name: string, of: (prediction: Prediction) => PredictedStep | null) => {
    if (plans.every(({ prediction }) => of(prediction) === null)) return [];
    const part = (what: string, key: keyof PredictedStep) =>
      row(what, (prediction) => seconds(of(prediction)?.[key] ?? 0));
    return [
      part(name, "seconds"),
      part("· rollout", "rollout"),
      part("· verification", "verification"),
      part("· of both: fewer than half of the slots in use", "tail"),
      part("· forward and backward", "gradient"),
      part("· gradient and weights exchanged", "reduction"),
      part("· optimizer", "optimizer"),
    ];
  };
  const problems: string[] = [];
  const memory = plans.map(({ memory }) =>
    memory.map(({ ranks, bytes, problem }) => {
      const own = memory.length > 1 ? `${ranks}: ` : "";
      if (problem !== null) problems.push(`\nMemory of ${own || "a rank: "}${problem}`);
      if (bytes === null) return `${own}no plan`;
      return `${own}${formatBytes(bytes)}${bytes > memoryBytes ? ", too much" : ""}`;
    }).join(", ")
  );
  const table = alignedTable([
    ["predicted", ...plans.map(({ prediction }) => placementName(prediction.placement))],
    ...stepRows("generator step", ({ generatorStep }) => generatorStep),
    ...stepRows("verifier step", ({ verifierStep }) => verifierStep),
    row("step, mean over the schedule", ({ meanStepSeconds }) => seconds(meanStepSeconds)),
    row("evaluation", ({ evaluationSeconds }) => seconds(evaluationSeconds)),
    row("checkpoint", ({ checkpointSeconds }) => seconds(checkpointSeconds)),
    row("whole run", ({ totalSeconds }) => formatDuration(totalSeconds)),
    row("idle, of the steps' time", ({ idleShare }) => share(idleShare)),
    row("exchanging, of the steps' time", ({ exchangeShare }) => share(exchangeShare)),
    row("sent by a rank in a step", ({ bytesPerStep }) => formatBytes(bytesPerStep)),
    [`memory of a rank, which has ${formatBytes(memoryBytes)}`, ...memory],
  ]);
  return [table, ...new Set(problems)].join("\n");
}

/** A prediction beside what a run took, on as many ranks. */
export function formatComparison(
  { generatorStep, verifierStep }: Prediction,
  measured: MeasuredRun,
) {
  const rows = (
    name: string,
    predicted: PredictedStep | null,
    found: MeasuredStep | null,
  ): string[][] => {
    if (!predicted || !found) return [];
    const row = (what: string, key: keyof MeasuredStep) => {
      const error = found[key] > 0
        ? `${(100 * (predicted[key] / found[key] - 1)).toFixed(0)} %`
        : "-";
      return [what, seconds(predicted[key]), seconds(found[key]), error];
    };
    return [
      row(name, "seconds"),
      row("· rollout", "rollout"),
      row("· verification", "verification"),
      row("· forward and backward", "gradient"),
      row("· optimizer", "optimizer"),
    ];
  };
  return alignedTable([
    ["", "predicted", "measured", "error"],
    ...rows("generator step", generatorStep, measured.generatorStep),
    ...rows("verifier step", verifierStep, measured.verifierStep),
  ]);
}
