import type { RunEvent } from "../../run/events/run_event.ts";
import { sftAccuracy } from "../../run/report/sft_report.ts";
import type { SftConfig } from "../../run/config/sft_config_schema.ts";
import { METRIC } from "../../run/store/metric_names.ts";
import { describeLearnabilityMetrics } from "../../run/tango/learnability_metrics.ts";
import type { DescribeStep } from "./run_progress.ts";

/** Describes the updates of a fine-tuning: the loss. */
export const describeUpdates = (): DescribeStep => ({ metrics }) => ({
  kind: "update",
  status: `loss ${metrics[METRIC.supervisedLoss]?.toFixed(4) ?? "not finite"}${
    toldApart(metrics[METRIC.preferenceAccuracy])
  }`,
});

/** The share of pairs of responses that are told apart, as it follows a loss; nothing where there are none. */
export function toldApart(share: number | undefined): string {
  return share === undefined || Number.isNaN(share)
    ? ""
    : `, pairs told apart ${(100 * share).toFixed(1)} %`;
}

/** What an evaluation found, as a line; null for any other event. */
export function describeEvaluation(event: RunEvent, policy: SftConfig["policy"]): string | null {
  if (event.type !== "evaluation") return null;
  const { step, metrics } = event;
  const { name, metric } = sftAccuracy(policy);
  const loss = metrics[METRIC.heldOutLoss]?.toFixed(4) ?? "not finite";
  const pairs = toldApart(metrics[METRIC.heldOutPreferenceAccuracy]);
  const share = metric in metrics ? `, ${name} ${(100 * metrics[metric]).toFixed(1)} %` : "";
  const learnable = describeLearnabilityMetrics(metrics);
  const ahead = learnable === null ? "" : `\nFor training, ${learnable}.`;
  return `update ${step}: held-out loss ${loss}${pairs}${share}${ahead}`;
}
