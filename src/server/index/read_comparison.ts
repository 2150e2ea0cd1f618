import type { Ends } from "../../run/compare/comparison_results.ts";
import { METRIC } from "../../run/store/metric_names.ts";
import type { RunIndex } from "./run_index.ts";

/** What a run of a comparison measured first and last; null before it has measured. */
export function readEnds(
  index: RunIndex,
  run: number,
): { readonly generator: Ends; readonly verifier: Ends | null } | null {
  const generator = endsOf(index, run, METRIC.generatorAccuracy);
  return generator && { generator, verifier: endsOf(index, run, METRIC.verifierBalancedAccuracy) };
}

function endsOf(index: RunIndex, run: number, name: string): Ends | null {
  const values = index.columns.read(run, name, index.rowsOf(run))
    .filter((value) => !Number.isNaN(value));
  return values.length === 0 ? null : { start: values[0], end: values[values.length - 1] };
}
