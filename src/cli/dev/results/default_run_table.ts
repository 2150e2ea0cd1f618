import { alignedTable } from "../../../base/table.ts";
import { METRIC } from "../../../run/store/metric_names.ts";
import { type MeasuredRow, numberOf, readMeasuredRows, readSources } from "./result_rows.ts";
import { percent, sourceBlock } from "./result_words.ts";

const digits = (value: number) => value.toFixed(3);

const ROWS: readonly (readonly [string, string, ((value: number) => string)?])[] = [
  ["generator accuracy", METRIC.generatorAccuracy],
  ["right without a wrong step", METRIC.generatorSoundAccuracy],
  ["verdicts, balanced accuracy", METRIC.verifierBalancedAccuracy],
  ["step judgments, balanced accuracy", METRIC.verifierStepBalancedAccuracy],
  ["the same within wrong solutions", "eval/verifier/step_balanced_accuracy_in_wrong"],
  ["AUROC there, by P(INCORRECT)", METRIC.verifierStepAurocInWrong, digits],
  ["the same by steps' places alone", METRIC.verifierStepAurocByPlace, digits],
  ["first wrong step found", METRIC.verifierFirstError],
  ["F1 of that and of finding none", METRIC.verifierStepF1, digits],
  ["verdicts that follow from the steps", METRIC.verifierConsistency],
];

/** The default run's first and last evaluations, a column for each seed. */
export function defaultRunTable(): string {
  const bySeed = [...Map.groupBy(readMeasuredRows("chains/evaluations.jsonl"), ({ seed }) => seed)];
  const columns: (readonly [string, MeasuredRow])[] = [
    ["start", bySeed[0][1][0]],
    ...bySeed.map(([seed, rows]) => [`seed ${seed}`, rows[rows.length - 1]] as const),
  ];
  const table = alignedTable([
    ["", ...columns.map(([name]) => name)],
    ...ROWS.map(([label, metric, format = percent]) => [
      label,
      // Earlier versions did not measure all of them.
      ...columns.map(([, row]) => metric in row ? format(numberOf(row, metric)) : "–"),
    ]),
  ]);
  return `${table}\n\n${sourceBlock("./tango train --seed N", readSources("chains/runs.jsonl"))}`;
}
