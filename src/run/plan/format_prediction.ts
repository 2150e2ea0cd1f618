import { formatDuration } from "../../base/duration.ts";
import { formatBytes } from "../../base/format_bytes.ts";
import { alignedTable } from "../../base/table.ts";
import { formatMemoryPlan, type MemoryPlan } from "../memory/memory_plan.ts";
import type { MeasuredRun, MeasuredStep } from "./measured_run.ts";
import type { PlannedPlacement } from "./planned_run.ts";
import type { PredictedStep, Prediction } from "./prediction.ts";

/** GPU memory of a rank of a placement, or why there is no number. */
export interface RankMemory {
  /** Which ranks: all, or those of a policy. */
  readonly ranks: string;
  readonly bytes: number | null;
  /** What they are; null where there is no number. */
  readonly plan: MemoryPlan | null;
  /** Why there is no number. */
  readonly problem: string | null;
}

/** A prediction with what a rank then needs. */
export interface PredictedMemory {
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

/** A prediction as rows of a name and a cell. */
export function predictionCells(prediction: Prediction): (readonly [string, string])[] {
  const stepCells = (name: string, step: PredictedStep | null): (readonly [string, string])[] =>
    step === null ? [] : [
      [name, seconds(step.seconds)],
      ["· rollout", seconds(step.rollout)],
      ["· verification", seconds(step.verification)],
      ...(step.continuation === 0 ? [] : [["· continuation", seconds(step.continuation)] as const]),
      [
        `· of ${step.continuation === 0 ? "both" : "these"}: fewer than half of the slots in use`,
        seconds(step.tail),
      ],
      ["· forward and backward", seconds(step.gradient)],
      ["· gradient and weights exchanged", seconds(step.reduction)],
      ["· optimizer", seconds(step.optimizer)],
    ];
  return [
    ...stepCells("generator step", prediction.generatorStep),
    ...stepCells("verifier step", prediction.verifierStep),
    ["step, mean over the schedule", seconds(prediction.meanStepSeconds)],
    ["evaluation", seconds(prediction.evaluationSeconds)],
    ["checkpoint", seconds(prediction.checkpointSeconds)],
    ["whole run", formatDuration(prediction.totalSeconds)],
    ["idle, of the steps' time", share(prediction.idleShare)],
    ["exchanging, of the steps' time", share(prediction.exchangeShare)],
    ["sent by a rank in a step", formatBytes(prediction.bytesPerStep)],
  ];
}

/** Predictions of one run side by side. @param memoryBytes that a GPU has */
export function formatPredictions(plans: readonly PredictedMemory[], memoryBytes: number): string {
  const problems: string[] = [];
  const memory = plans.map(({ memory }) =>
    memory.map(({ ranks, bytes, problem }) => {
      const own = memory.length > 1 ? `${ranks}: ` : "";
      if (problem !== null) problems.push(`\nMemory of ${own || "a rank: "}${problem}`);
      if (bytes === null) return `${own}no plan`;
      return `${own}${formatBytes(bytes)}${bytes > memoryBytes ? ", too much" : ""}`;
    }).join(", ")
  );
  const cells = plans.map(({ prediction }) => predictionCells(prediction));
  const table = alignedTable([
    ["predicted", ...plans.map(({ prediction }) => placementName(prediction.placement))],
    ...cells[0].map(([name], row) => [name, ...cells.map((column) => column[row][1])]),
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
      ...(predicted.continuation === 0 ? [] : [row("· continuation", "continuation")]),
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

/** What takes the memory of a placement's ranks. */
export function formatRankMemory({ prediction, memory }: PredictedMemory): string {
  const name = placementName(prediction.placement);
  return memory.map(({ ranks, plan, problem }) => {
    const whose = ranks === "all" ? "each rank" : `a ${ranks}'s rank`;
    return `\n${name}, ${whose}\n${plan ? formatMemoryPlan(plan) : problem}\n`;
  }).join("");
}
