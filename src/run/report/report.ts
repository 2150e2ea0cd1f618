/** `report.md` and `curves.svg`: what a run did, for someone who was not there. */

import { basename } from "../../platform/system/paths.ts";
import { writeFileAtomically } from "../../platform/files/atomic_file.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { chainEnd } from "./chain_end.ts";
import { describeChanges } from "./changes.ts";
import { drawCurves, metricPoints } from "./curves.ts";
import { formatDuration } from "../../base/duration.ts";
import { readJsonLines } from "../store/json_lines_log.ts";
import { needsVerifier } from "../../rl/advantage/step_judgments.ts";
import { METRIC } from "../store/metric_names.ts";
import { formatBytes } from "../../base/format_bytes.ts";
import type { MetricsLine } from "../store/metrics_log.ts";
import type { RunFacts } from "./run_facts.ts";
import { problemsName } from "../problems/open_problems.ts";
import { readJudgmentLabels } from "../store/judgment_labels.ts";
import type { JudgmentLabels } from "../config/sft_config_schema.ts";
import { CONTINUE, type RunFolder } from "../store/run_folder.ts";

interface Row {
  readonly label: string;
  readonly metric: string;
  readonly format: (value: number) => string;
  /** How a change is written; defaults to the difference in the same format. */
  readonly formatChange?: (value: number) => string;
  /** Values at each end of the run that are averaged: one batch alone says little. */
  readonly averaged?: number;
}

const percent = (value: number) => `${(100 * value).toFixed(1)} %`;
const points = (value: number) => `${(100 * value).toFixed(1)} points`;
const decimals = (digits: number) => (value: number) => value.toFixed(digits);
const BATCHES = 5;

/** Remarks on step accuracy, by where the verifier's earlier judgments of steps came from. */
const STEP_ACCURACY: Readonly<Record<JudgmentLabels | "unknown", string>> = {
  gold: "verifier step accuracy (its warm start imitated true labels of steps)",
  coin_flip: "verifier step accuracy (its warm start was told no label)",
  unknown: "verifier step accuracy",
};

const WARM_START: Readonly<Record<JudgmentLabels | "unknown", string>> = {
  gold: "critiques with true judgments of steps and answers",
  coin_flip: "critiques with judgments by coin flip, which tell no label",
  unknown: "not known; the model's folder does not say",
};

/** What matters most of a run: the generator, and both kinds of judgments. */
const HEADLINES: readonly Row[] = [
  share("generator accuracy, held-out problems", METRIC.generatorAccuracy),
  share("verifier balanced accuracy, fresh solutions", METRIC.verifierBalancedAccuracy),
  share("step judgments, balanced accuracy", METRIC.verifierStepBalancedAccuracy),
];

const EVALUATED: readonly Row[] = [
  ...HEADLINES,
  share("verifier accuracy", METRIC.verifierAccuracy),
  share("verifier F1", METRIC.verifierF1),
];

const TRAINED: readonly Row[] = [
  training("generator reward", METRIC.generatorReward, 3),
  training("verifier reward", METRIC.verifierReward, 3),
  training("generator response length (tokens)", METRIC.generatorLength, 1),
  training("steps in a solution", METRIC.generatorSteps, 2),
  averagedShare("solutions with more steps than needed", METRIC.moreSteps),
  averagedShare("solutions with fewer steps than needed", METRIC.fewerSteps),
  averagedShare("steps without a letter or digit", METRIC.emptySteps),
  averagedShare("steps that repeat the question or an earlier one", METRIC.repeatedSteps),
  averagedShare("solutions that go on after their answer", METRIC.trailingText),
  training("tokens in a step", METRIC.stepTokens, 1),
  training("verifier response length (tokens)", METRIC.verifierLength, 1),
  { label: "α, share of the process advantage", metric: METRIC.alpha, format: decimals(4) },
  share("step judgments, balanced accuracy about answers", METRIC.judgmentQuality),
];

/** Writes report.md and curves.svg into a run's folder from its metrics.jsonl. */
export function writeReport(run: RunFolder, config: TangoConfig, facts: RunFacts): void {
  const lines = readJsonLines<MetricsLine>(run.metrics);
  writeFileAtomically(run.curves, drawCurves(lines), CONTINUE);
  writeFileAtomically(run.report, composeReport(run, config, facts, lines), CONTINUE);
}

/** The text of report.md. */
export function composeReport(
  run: RunFolder,
  config: TangoConfig,
  facts: RunFacts,
  lines: readonly MetricsLine[],
): string {
  const problems = metricPoints(lines, METRIC.evaluatedProblems).at(-1)?.[1] ??
    config.evaluation.problems ?? 0;
  const labels = judgmentLabelsOf(config);
  const ofSteps = [
    share(STEP_ACCURACY[labels], METRIC.verifierStepAccuracy),
    share("step AUROC within wrong solutions", METRIC.verifierStepAurocInWrong),
    share("the same by the steps' places alone", METRIC.verifierStepAurocByPlace),
    share("first wrong step found", METRIC.verifierFirstError),
    share(
      "step F1 (first wrong step found, none found where there is none)",
      METRIC.verifierStepF1,
    ),
    share("critiques' own results that differ from a wrong claim", METRIC.verifierOwnResultDiffers),
    share("critiques' own results that are a right claim's", METRIC.verifierOwnResultAgrees),
    share("verdicts that follow from the step judgments", METRIC.verifierConsistency),
  ];
  const rows = [...EVALUATED, ...ofSteps, ...TRAINED].flatMap((row) => composeRow(row, lines));
  return `# ${methodName(config)} on ${problemsName(config)}

${summary(config, facts, lines)}

![Held-out accuracy and rewards over the run](${basename(run.curves)})

| | start | end | change |
| --- | ---: | ---: | ---: |
${rows.join("\n")}

## What ran

| | |
| --- | --- |
${whatRan(run, config, facts, lines).map(([key, value]) => `| ${key} | ${value} |`).join("\n")}

## How to read this

- **Held-out accuracies** are measured on ${problems} problems that training never
  sees (seed ${config.evaluation.seed}), ${
    config.evaluation.samples === 1 ? "one greedy answer" : `${config.evaluation.samples} samples`
  } each; start and end are the first and the
  last evaluation. With p the accuracy and n = ${problems}, one measurement is
  uncertain by about ±${percent(Math.sqrt(0.25 / problems))} (standard error, at most).
- **Balanced accuracy** is the mean of the verifier's accuracy on right and on wrong solutions: always
  answering CORRECT, or always INCORRECT, gives 50 %, whatever the generator does. That of step judgments
  is the mean over right and wrong steps, where the task can tell them. **Step accuracy** alone rises by
  itself as solutions get better, for a verifier that calls every step right. **Step AUROC** is how often, of a
  wrong and a right step of wrong solutions, the wrong one has the higher P(INCORRECT): half the time where the
  verifier only knows that the solution is wrong. **Own results** say whether critiques calculate or copy the claim.
- **Rewards, lengths and steps** are means over the first and the last ${BATCHES} training batches that
  have them. Solutions that get longer or change their number of steps while the accuracy stands still
  are the first sign of reward hacking, and so are steps that are empty or repeat something: look at \`${
    basename(run.samples)
  }\`.
${onPolicyNote(lines)}
Files: \`${basename(run.configuration)}\` is the configuration with every default filled in,
\`${basename(run.metrics)}\` has one line per step and evaluation, \`${
    basename(run.samples)
  }\` the texts behind
them, \`${basename(run.timings)}\` the speed.
`;
}

function onPolicyNote(lines: readonly MetricsLine[]): string {
  const differences = metricPoints(lines, METRIC.logProbDifference).map(([, value]) => value);
  if (differences.length === 0) return "";
  const largest = Math.max(...differences);
  return `- **Log-probs while sampling and while training** differed by at most ${
    largest === 0 ? "0" : largest.toExponential(1)
  } in any
  token of the run; 0 means that training was exactly on-policy.
`;
}

/** Name of the configured method, in the paper's words. */
export function methodName({ generator, verifier, advantage }: TangoConfig): string {
  const estimator = {
    "grpo": "GRPO",
    "dr_grpo": "Dr. GRPO",
    "rloo": "RLOO",
    "reinforce++": "REINFORCE++",
  };
  const name = estimator[advantage.estimator];
  if (verifier === null) {
    return needsVerifier(advantage.judgments)
      ? `${name} alone`
      : `${name} with ${advantage.judgments} step judgments`;
  }
  if (!generator.trained) return `the verifier's ${name} with a frozen generator`;
  return verifier.trained ? `RL Tango (${name})` : `${name} with a frozen verifier`;
}

function summary(
  config: TangoConfig,
  { reachedEnd }: RunFacts,
  lines: readonly MetricsLine[],
): string {
  const total = config.schedule.total_training_steps;
  const state = reachedEnd
    ? `All ${total} steps were done.`
    : `The run stopped after step ${lastStep(lines)} of ${total}; \`--resume\` continues it.`;
  const bullets = findHeadlines(lines).map(({ label, change }) => `- ${label}: **${change}**`);
  return bullets.length === 0 ? state : `${state}\n\n${bullets.join("\n")}`;
}

/** A change that a run made: `50.0 % → 83.3 %` of a measure. */
export interface Headline {
  readonly label: string;
  readonly change: string;
}

/** The first and the last value of the headlines, of those that were measured twice; no steps' without their labels. */
export function findHeadlines(lines: readonly MetricsLine[]): Headline[] {
  return HEADLINES.flatMap(({ label, metric }) => {
    const values = metricPoints(lines, metric).map(([, value]) => value);
    if (values.length < 2) return [];
    return [{ label, change: `${percent(values[0])} → ${percent(values[values.length - 1])}` }];
  });
}

function whatRan(
  run: RunFolder,
  config: TangoConfig,
  { device, seconds, memory, warnings }: RunFacts,
  lines: readonly MetricsLine[],
): [string, string][] {
  const { rollout, schedule, verifier } = config;
  const end = chainEnd(run);
  const count = (phase: string) =>
    new Set(lines.filter((line) => line.phase === phase).map(({ step }) => step)).size;
  return [
    ["generator", `\`${config.generator.model}\`${config.generator.trained ? "" : ", frozen"}`],
    [
      "verifier",
      verifier === null ? "none" : `\`${verifier.model}\`${verifier.trained ? "" : ", frozen"}`,
    ],
    ...(verifier === null
      ? []
      : [["the verifier had imitated", WARM_START[judgmentLabelsOf(config)]] as [string, string]]),
    ["batch", `${rollout.batch_size} problems × ${rollout.group_size} responses`],
    ...(verifier === null || rollout.critiques === null
      ? []
      : [["critiques", `${rollout.critiques} of each solution`] as [string, string]]),
    [
      "schedule",
      `${schedule.generator_warmup_steps} generator and ${schedule.verifier_warmup_steps} verifier ` +
      `warm-up steps, then ${schedule.generator_steps} generator : ${schedule.verifier_steps} verifier`,
    ],
    ["steps done", `${count("generator")} generator, ${count("verifier")} verifier`],
    ["seed", String(config.seed)],
    ...describeChanges(lines).map((change): [string, string] => ["changed", change]),
    ...warnings.map((said): [string, string] => ["warning", said.replaceAll("|", "\\|")]),
    ["device", `${device.name}${device.software ? " (software)" : ""}, ${device.engine} engine`],
    [
      "GPU memory",
      `${formatBytes(memory.peakBytes)} at most, ${formatBytes(memory.plannedBytes)} planned`,
    ],
    ["time since start or resume", formatDuration(seconds)],
    ...(end === null ? [] : [["end of its chain of records", `\`${end}\``] as [string, string]]),
  ];
}

function judgmentLabelsOf({ verifier }: TangoConfig): JudgmentLabels | "unknown" {
  return (verifier && readJudgmentLabels(verifier.model)) ?? "unknown";
}

function lastStep(lines: readonly MetricsLine[]): number {
  return lines.reduce((step, line) => Math.max(step, line.step), 0);
}

function share(label: string, metric: string): Row {
  return { label, metric, format: percent, formatChange: points };
}

function averagedShare(label: string, metric: string): Row {
  return { ...share(label, metric), averaged: BATCHES };
}

function training(label: string, metric: string, digits: number): Row {
  return { label, metric, format: decimals(digits), averaged: BATCHES };
}

function composeRow(row: Row, lines: readonly MetricsLine[]): string[] {
  const values = metricPoints(lines, row.metric).map(([, value]) => value);
  if (values.length === 0) return [];
  const averaged = row.averaged ?? 1;
  const mean = (part: number[]) => part.reduce((sum, value) => sum + value, 0) / part.length;
  const start = mean(values.slice(0, averaged));
  const end = mean(values.slice(-averaged));
  const change = (row.formatChange ?? row.format)(Math.abs(end - start));
  const sign = end < start ? "−" : "+";
  return [`| ${row.label} | ${row.format(start)} | ${row.format(end)} | ${sign}${change} |`];
}
