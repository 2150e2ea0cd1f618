import { METRIC } from "../../run/store/metric_names.ts";
import type { DescribeStep } from "./run_progress.ts";

/** Describes the steps of a Tango run: its phase (G or V) and the policies' last rewards. */
export function describeTangoSteps(): DescribeStep {
  const lastReward: { generator?: number; verifier?: number } = {};
  return ({ phase, metrics }) => {
    lastReward[phase] =
      metrics[phase === "generator" ? METRIC.generatorReward : METRIC.verifierReward];
    const { generator, verifier } = lastReward;
    const rewards = [
      ...(generator === undefined ? [] : [`G ${generator.toFixed(2)}`]),
      ...(verifier === undefined ? [] : [`V ${verifier.toFixed(2)}`]),
    ];
    return {
      kind: phase === "generator" ? "G" : "V",
      status: `reward ${rewards.join(" ")}`,
    };
  };
}
