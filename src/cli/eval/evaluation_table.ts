import type { Metrics } from "../../run/store/metrics_log.ts";
import { METRIC } from "../../run/store/metric_names.ts";
import type { TestTimeOptions } from "../../run/tango/held_out_evaluation.ts";
import { balancedError } from "../../base/statistics.ts";
import { alignedTable } from "../../base/table.ts";

/** What was measured, and how. */
export interface EvaluationFacts {
  readonly title: string;
  readonly policy: "generator" | "verifier";
  readonly problems: number;
  /** Problems that were too long for the models. */
  readonly passedOver: number;
  readonly samples: number;
  /** Of sampled solutions, and of sampled critiques. */
  readonly temperature: number;
  readonly critiqueTemperature: number;
  /** How a verifier chooses among the samples; null where none does. */
  readonly testTime: TestTimeOptions | null;
  /** By their names in metrics.jsonl. */
  readonly metrics: Metrics;
}

const percent = (value: number) => `${(100 * value).toFixed(1)} %`;

/** The result of an evaluation for people. */
export function evaluationTable(facts: EvaluationFacts): string {
  const { title, policy, problems, samples, temperature, critiqueTemperature, metrics } = facts;
  const rows = (policy === "generator" ? generatorRows(facts) : VERIFIER_ROWS)
    .filter(({ metric }) => metric in metrics)
    .map(({ label, metric, format = percent }) => [label, format(metrics[metric])]);
  const drawn = samples === 1
    ? "one greedy answer each"
    : `${samples} samples each at temperature ${
      policy === "verifier" ? critiqueTemperature : temperature
    }`;
  return [
    `${title}: ${problems} held-out problems, ${drawn}` +
    (policy === "verifier"
      ? `,\nabout one solution of each problem, sampled at temperature ${temperature}`
      : "") +
    judgedBy(facts),
    "",
    alignedTable([["measure", "value"], ...rows]),
    "",
    uncertainty(facts),
    ...passedOverLine(facts),
  ].join("\n");
}

/** Each class of a balanced accuracy is measured on its own problems, of which the fewer say less. */
function uncertainty({ policy, problems, metrics }: EvaluationFacts): string {
  const share = metrics["eval/generator/sampled_accuracy"] ?? 0;
  const isBalanced = policy === "verifier" && share > 0 && share < 1;
  const of = isBalanced ? "The verdicts' balanced accuracy is uncertain" : "Uncertain";
  const error = isBalanced
    ? balancedError(share * problems, (1 - share) * problems)
    : Math.sqrt(0.25 / problems);
  return `${of} by at most ±${percent(error)} (standard error over the problems).`;
}

function judgedBy({ testTime, temperature, critiqueTemperature }: EvaluationFacts): string {
  if (testTime === null) return "";
  const { critiques, rewrites } = testTime;
  const drawn = critiques === 1
    ? "one greedy critique"
    : `${critiques} critiques at temperature ${critiqueTemperature}`;
  const again = rewrites === 0
    ? ""
    : `, rewritten in ${rewrites} rounds at most at temperature ${temperature}`;
  return `,\neach judged by ${drawn}${again}`;
}

/** How well a verifier finds the first wrong step, for people. */
export function processTable(facts: EvaluationFacts): string {
  const { title, problems, metrics } = facts;
  const prefix = "eval/process/by_source/";
  const sources = Object.keys(metrics).flatMap((metric) =>
    metric.startsWith(prefix) && metric.endsWith("/f1_score")
      ? [metric.slice(prefix.length, -"/f1_score".length)]
      : []
  );
  const of = (source: string, name: string) => percent(metrics[`${prefix}${source}/${name}`]);
  return [
    `${title}: ${problems} written solutions, one greedy critique each`,
    "",
    alignedTable([
      ["source", "first error found", "right ones passed", "F1"],
      ...sources.map((source) => [
        source,
        of(source, "erroneous_accuracy"),
        of(source, "correct_accuracy"),
        of(source, "f1_score"),
      ]),
      ["mean", "", "", percent(metrics["eval/process/f1_score"])],
    ]),
    "",
    `${
      percent(metrics["eval/process/unjudged"])
    } of the critiques do not judge every step; they count as wrong.`,
    ...passedOverLine(facts),
  ].join("\n");
}

function passedOverLine({ passedOver }: EvaluationFacts): string[] {
  if (passedOver === 0) return [];
  return [
    `${passedOver} more were passed over: they leave no room for a response in the positions.`,
  ];
}

interface Row {
  readonly label: string;
  readonly metric: string;
  readonly format?: (value: number) => string;
}

const tokens = (value: number) => value.toFixed(1);

function generatorRows({ samples, metrics }: EvaluationFacts): Row[] {
  const prefix = "eval/generator/";
  const byK = (kind: string, name: string) =>
    Object.keys(metrics)
      .map((metric) => ({ metric, match: metric.match(`^${prefix}${kind}_at_(\\d+)$`) }))
      .filter(({ match }) => match !== null && match[1] !== "1")
      .map(({ metric, match }) => ({ label: `${name}@${match?.[1]}`, metric }));
  const accuracy = samples === 1 ? "accuracy" : `mean@${samples}`;
  const measures = [
    { label: accuracy, metric: METRIC.generatorAccuracy },
    { label: "right, and every step too", metric: METRIC.generatorSoundAccuracy },
    ...byK("pass", "pass"),
    ...byK("maj", "maj"),
    ...byK("bon", "bon"),
    ...byK("vote", "weighted vote"),
  ];
  return [
    ...measures.flatMap((row) => [row, ...bySource(metrics, row.metric.slice(prefix.length))]),
    { label: "exactly in the format", metric: `${prefix}well_formed` },
    { label: "steps in a solution", metric: `${prefix}mean_steps`, format: tokens },
    { label: "response length (tokens)", metric: `${prefix}mean_length`, format: tokens },
    ...TEST_TIME_ROWS,
  ];
}

const TEST_TIME_ROWS: readonly Row[] = [
  { label: "AUROC of the verifier's mean P(CORRECT)", metric: METRIC.qualityAuroc },
  { label: "verdict unreadable", metric: "eval/verifier/verdict_unparsed" },
  { label: "accuracy before rewriting", metric: "eval/rewriting/accuracy_before" },
  { label: "accuracy after rewriting", metric: "eval/rewriting/accuracy_after" },
  { label: "rewritten", metric: "eval/rewriting/rewritten" },
  { label: "  from wrong to right", metric: "eval/rewriting/righted" },
  { label: "  from right to wrong", metric: "eval/rewriting/spoilt" },
  {
    label: "tokens rewritten, a solution",
    metric: "eval/rewriting/generator_tokens",
    format: tokens,
  },
  {
    label: "tokens of critiques, a solution",
    metric: "eval/rewriting/verifier_tokens",
    format: tokens,
  },
  {
    label: "more samples for as many tokens",
    metric: "eval/rewriting/samples_for_tokens",
    format: tokens,
  },
];

/** A measure for each source, where there are several. */
function bySource(metrics: Metrics, measure: string): Row[] {
  const prefix = "eval/generator/by_source/", end = `/${measure}`;
  return Object.keys(metrics)
    .filter((metric) => metric.startsWith(prefix) && metric.endsWith(end))
    .map((metric) => ({ label: `  of ${metric.slice(prefix.length, -end.length)}`, metric }));
}

const VERIFIER_ROWS: readonly Row[] = [
  { label: "accuracy", metric: METRIC.verifierAccuracy },
  { label: "balanced accuracy", metric: METRIC.verifierBalancedAccuracy },
  { label: "precision of CORRECT", metric: "eval/verifier/precision" },
  { label: "recall of CORRECT", metric: "eval/verifier/recall" },
  { label: "F1 of CORRECT", metric: METRIC.verifierF1 },
  { label: "step accuracy", metric: METRIC.verifierStepAccuracy },
  { label: "balanced step accuracy", metric: METRIC.verifierStepBalancedAccuracy },
  { label: "step F1 (first error, none)", metric: METRIC.verifierStepF1 },
  { label: "first wrong step found", metric: METRIC.verifierFirstError },
  { label: "step AUROC in wrong solutions", metric: METRIC.verifierStepAurocInWrong },
  { label: "the same by a step's place alone", metric: METRIC.verifierStepAurocByPlace },
  { label: "own result differs from a wrong claim", metric: METRIC.verifierOwnResultDiffers },
  { label: "own result is a right claim's", metric: METRIC.verifierOwnResultAgrees },
  { label: "verdict follows from the steps", metric: METRIC.verifierConsistency },
  { label: "one judgment for each step", metric: "eval/verifier/steps_equal" },
  { label: "verdict unreadable", metric: "eval/verifier/verdict_unparsed" },
  { label: "response length (tokens)", metric: "eval/verifier/mean_length", format: tokens },
  { label: "solutions that are right", metric: "eval/generator/sampled_accuracy" },
];
