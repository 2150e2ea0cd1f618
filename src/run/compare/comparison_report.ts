/** What a comparison leaves: `rows.csv`, `compare.json`, `compare.md` and `compare.svg`. */

import { basename } from "node:path";
import { writeFileAtomically } from "../../base/atomic_file.ts";
import { alignedTable } from "../../base/table.ts";
import { problemsName } from "../problems/open_problems.ts";
import {
  type LineSeries,
  type Point,
  renderLineCharts,
  SERIES_COLORS,
} from "../report/line_charts.ts";
import { CONTINUE } from "../store/run_folder.ts";
import type { Arm } from "./arms.ts";
import { comparisonFiles, type StoredComparison } from "./comparison_folder.ts";
import {
  type ArmDifference,
  type Budgets,
  commonBudgets,
  comparisonRows,
  differencesTo,
  endsOf,
  type Measured,
  measured,
  reachOf,
  readRow,
  type Spread,
  spreadOf,
} from "./comparison_results.ts";
import { BOOTSTRAP, type Interval } from "./paired.ts";
import { byGeneratorSteps, bySeconds, type RunRow, verifierBySteps } from "./run_row.ts";

/** How a comparison is told. */
export interface ReportOptions {
  /** Name of the arm that the others are set beside. */
  readonly baseline: string;
  /** Accuracy whose steps and seconds are told; null: none. */
  readonly target: number | null;
  /** Runs that went on at once, so that seconds can be judged. */
  readonly jobs: number;
}

/** A run that ended because a policy ran away. */
export interface DivergedRun {
  readonly arm: Pick<Arm, "name">;
  readonly seed: number;
  /** What it said when it ended. */
  readonly message: string;
  /** The key of the learning rate that was too high; null: what does not learn is not trained. */
  readonly learningRate: string | null;
}

/** The rows of one arm, in the order of the seeds. */
interface ArmRows {
  readonly arm: Arm;
  readonly rows: readonly RunRow[];
}

/**
 * Writes all that a comparison leaves from its finished runs; nothing when none is.
 *
 * @param rows of the finished runs
 * @returns the table, or null
 */
export function writeComparison(
  comparison: StoredComparison,
  rows: readonly RunRow[],
  path: string,
  options: ReportOptions & { readonly diverged: readonly DivergedRun[] },
): string | null {
  if (rows.length === 0) return null;
  const files = comparisonFiles(path);
  const arms = byArm(comparison, rows);
  const differences = differencesTo(options.baseline, rows);
  const write = (file: string, text: string) => writeFileAtomically(file, text, CONTINUE);
  write(files.table, csvOf(rows, options.target));
  write(
    files.results,
    `${JSON.stringify(resultsOf(comparison, arms, differences, options), null, 1)}\n`,
  );
  write(files.curves, drawComparison(arms));
  write(files.report, composeReport(comparison, arms, differences, options));
  return comparisonTable(arms);
}

/** Finished runs by arm, in the order of the arms. */
export function byArm(
  { arms }: Pick<StoredComparison, "arms">,
  rows: readonly RunRow[],
): ArmRows[] {
  return arms.map((arm) => ({ arm, rows: rows.filter((row) => row.arm === arm.name) }))
    .filter(({ rows }) => rows.length > 0);
}

/** Arm by arm: mean ± sample standard deviation over its seeds. */
export function comparisonTable(arms: readonly ArmRows[]): string {
  const ends = arms.map(({ arm, rows }) => ({ arm, runs: rows.map(endsOf) }));
  return alignedTable([
    ["", "runs", "generator accuracy", "verifier balanced accuracy"],
    ...comparisonRows(ends).map((row) => [
      row.name,
      String(row.runs),
      share(row.generatorAccuracy),
      share(row.verifierBalancedAccuracy),
    ]),
  ]);
}

const CSV_HEAD = [
  "arm",
  "seed",
  "problems",
  "training_steps",
  "generator_steps",
  "training_seconds",
  "start_accuracy",
  "final_accuracy",
  "last_five_accuracy",
  "area_under_curve",
  "steps_to_target",
  "seconds_to_target",
  "verdict_balanced_accuracy",
  "step_balanced_accuracy",
];

/** A line for each run, read at its own end; a cell without a value is empty. */
export function csvOf(rows: readonly RunRow[], target: number | null): string {
  const lines = rows.map((row) => {
    const { end } = readRow(row, { generatorSteps: null, seconds: null });
    const { verdicts, steps } = row.evaluations[row.evaluations.length - 1];
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
      end.lastFive,
      end.area,
      reach?.steps,
      reach?.seconds,
      verdicts,
      steps,
    ].map((cell) => cell ?? "").join(",");
  });
  return [CSV_HEAD.join(","), ...lines, ""].join("\n");
}

/** What compare.json holds: everything that the tables are made of, so that it can be kept instead of the runs. */
function resultsOf(
  { seeds }: StoredComparison,
  arms: readonly ArmRows[],
  differences: readonly ArmDifference[],
  { baseline, target, jobs }: ReportOptions,
) {
  const rows = arms.flatMap(({ rows }) => rows);
  return {
    seeds,
    arms: Object.fromEntries(arms.map(({ arm }) => [arm.name, arm.patch])),
    baseline,
    target,
    jobs,
    bootstrap: BOOTSTRAP,
    budgets: commonBudgets(rows),
    differences,
    rows,
  };
}

/** Two lines of accuracy, by generator steps and by minutes, and two of the verifier's judgments. */
export function drawComparison(arms: readonly ArmRows[]): string {
  const hasBands = arms.length <= 4;
  const lines = (courseOf: (row: RunRow) => Point[]) =>
    arms.map(({ arm, rows }, index): LineSeries => {
      const curve = spreadCurve(rows.map(courseOf).filter(({ length }) => length > 0));
      return {
        name: arm.name,
        color: SERIES_COLORS[index % SERIES_COLORS.length],
        dashed: index >= SERIES_COLORS.length,
        points: curve.map(({ x, spread }): Point => [x, spread.mean]),
        ...(hasBands && { band: curve.map(({ spread }) => edges(spread)) }),
      };
    });
  const seeds = Math.max(...arms.map(({ rows }) => rows.length));
  const subtitle = `mean over ${seeds} ${seeds === 1 ? "seed" : "seeds"}` +
    (seeds > 1 && hasBands ? ", band: ± one standard deviation" : "");
  const common = { subtitle, isShare: true };
  const guessing = { value: 0.5, label: "a verifier that guesses" };
  const minutes = (row: RunRow) => bySeconds(row).map(([x, y]): Point => [x / 60, y]);
  const judging = [
    { title: "Balanced accuracy of verdicts", measure: "verdicts" },
    { title: "Balanced accuracy of step judgments", measure: "steps" },
  ] as const;
  return renderLineCharts([
    {
      ...common,
      title: "Generator accuracy",
      xName: "generator steps",
      series: lines(byGeneratorSteps),
    },
    {
      ...common,
      title: "Generator accuracy",
      xName: "minutes of training",
      series: lines(minutes),
    },
    ...judging.map(({ title, measure }) => ({
      ...common,
      title,
      xName: "training steps of either policy",
      series: lines((row) => verifierBySteps(row, measure)),
      reference: guessing,
    })).filter(({ series }) => series.some(({ points }) => points.length > 0)),
  ]);
}

/** Mean and spread over runs at each evaluation that all of them have; x is their mean too. */
export function spreadCurve(curves: readonly Point[][]): { x: number; spread: Spread }[] {
  const length = curves.length === 0 ? 0 : Math.min(...curves.map(({ length }) => length));
  return Array.from({ length }, (_, i) => ({
    x: spreadOf(curves.map((curve) => curve[i][0])).mean,
    spread: spreadOf(curves.map((curve) => curve[i][1])),
  }));
}

const edges = ({ mean, deviation }: Spread) =>
  [Math.max(0, mean - deviation), Math.min(1, mean + deviation)] as const;

const percent = (value: number) => (100 * value).toFixed(1);

function share(found: Measured | null): string {
  if (found === null) return "–";
  const { mean, deviation, runs } = found;
  return runs === 1 ? `${percent(mean)} %` : `${percent(mean)} ± ${percent(deviation)} %`;
}

function amount(found: Measured | null, scale = 1, digits = 0): string {
  if (found === null) return "–";
  const [mean, deviation] = [found.mean, found.deviation].map((value) =>
    (value / scale).toFixed(digits)
  );
  return found.runs === 1 || found.deviation === 0 ? mean : `${mean} ± ${deviation}`;
}

function signed(value: number): string {
  const text = percent(Math.abs(value));
  return text === "0.0" ? text : `${value < 0 ? "−" : "+"}${text}`;
}

const interval = (ends: Interval | null) =>
  ends === null ? "–" : `${signed(ends[0])} … ${signed(ends[1])}`;

function composeReport(
  { base, arms: planned, seeds }: StoredComparison,
  arms: readonly ArmRows[],
  differences: readonly ArmDifference[],
  options: ReportOptions & { readonly diverged: readonly DivergedRun[] },
): string {
  const { baseline, target, jobs, diverged } = options;
  const rows = arms.flatMap(({ rows }) => rows);
  const budgets = commonBudgets(rows);
  const count = planned.length * seeds.length;
  const states = rows.length === count
    ? `All ${count} runs are done.`
    : `${rows.length} of ${count} runs are done so far.`;
  const { evaluation: { samples }, rollout } = base;
  const devices = [...new Set(rows.map(({ device }) => device))];
  const problems = [...new Set(rows.map(({ problems }) => problems))];
  const files = comparisonFiles("");
  return `# Comparison on ${problemsName(base)}

${states}${divergedSentence(diverged)} Each arm is the same configuration with the settings in ${
    basename(files.arms)
  }; steps are of
${rollout.batch_size} problems × ${rollout.group_size} responses unless an arm says otherwise. Arms with the
same seed are a pair: the same problems in the same order.

${comparisonTable(arms)}

Measured on ${problems.join(" or ")} held-out problems, the same for every run, ${
    samples === 1 ? "one greedy answer each" : `${samples} sampled answers each`
  }, at the end of each run:
mean ± sample standard deviation over the seeds. A verifier is measured on fresh solutions of its own
run's generator, so a frozen one changes too when its generator does.

![Means over the seeds](${basename(files.curves)})

## Each arm at its own end

${endTable(arms)}

Minutes are those of training steps; evaluations and checkpoints are not counted.${
    jobs > 1
      ? ` Up to ${jobs} runs went on at once, each slower for the others: minutes compare only as far as all were ` +
        "slowed alike."
      : ""
  } The area under the curve is divided by its length: the mean accuracy on the way.

## At equal budgets

${budgetTable(arms, budgets)}

An arm's curve is read between its evaluations by a straight line; the mean of the last five is of that reading
and the four evaluations before it. These budgets are where the first run to end had come to; a run is never made
longer than its arm's \`steps\` or the configuration says, and an arm whose learning rate or α falls to the end
of its run is read before it has fallen where it was given more steps.
${target === null ? "" : `\n${reachTable(arms, target)}\n`}
${differencesSection(differences, baseline)}

## Every run

${
    alignedTable([
      ["run", "generator accuracy", "verdicts", "step judgments"],
      ...rows.map((row) => {
        const first = row.evaluations[0], last = row.evaluations[row.evaluations.length - 1];
        const change = (start: number | null, end: number | null) =>
          start === null || end === null ? "–" : `${percent(start)} → ${percent(end)} %`;
        return [
          `[${row.arm}, seed ${row.seed}](${row.arm}-seed-${row.seed}/report.md)`,
          change(first.accuracy, last.accuracy),
          change(first.verdicts, last.verdicts),
          change(first.steps, last.steps),
        ];
      }),
    ])
  }

Device: ${
    devices.join("; ")
  }. Each run's folder holds its configuration, metrics, samples, report and weights;
${basename(files.rows)}, ${basename(files.table)} and ${
    basename(files.results)
  } hold what these tables are made of.
`;
}

/** What is said of runs that no table has. */
export function divergedSentence(diverged: readonly DivergedRun[]): string {
  if (diverged.length === 0) return "";
  const named = diverged.map(({ arm, seed }) => `${arm.name}, seed ${seed}`).join("; ");
  return ` **Diverged and in no table: ${named}.** The arm's figures are of the seeds that it survived.`;
}

/** Over an arm's runs: a number of each, in its own words. */
function overRuns(rows: readonly RunRow[], valueOf: (row: RunRow) => number | null) {
  return measured(rows.map(valueOf));
}

function endTable(arms: readonly ArmRows[]): string {
  const none: Budgets = { generatorSteps: null, seconds: null };
  const last = ({ evaluations }: RunRow) => evaluations[evaluations.length - 1];
  return alignedTable([
    [
      "arm",
      "runs",
      "generator steps",
      "minutes",
      "final accuracy",
      "mean of the last five",
      "area under the curve",
      "verdicts",
      "step judgments",
    ],
    ...arms.map(({ arm, rows }) => [
      arm.name,
      String(rows.length),
      amount(overRuns(rows, ({ generatorSteps }) => generatorSteps)),
      amount(overRuns(rows, ({ seconds }) => seconds), 60, 2),
      share(overRuns(rows, (row) => readRow(row, none).end.value)),
      share(overRuns(rows, (row) => readRow(row, none).end.lastFive)),
      share(overRuns(rows, (row) => readRow(row, none).end.area)),
      share(overRuns(rows, (row) => last(row).verdicts)),
      share(overRuns(rows, (row) => last(row).steps)),
    ]),
  ]);
}

function budgetTable(arms: readonly ArmRows[], budgets: Budgets): string {
  const { generatorSteps, seconds } = budgets;
  if (generatorSteps === null || seconds === null) {
    return "No arm that is finished trains its generator.";
  }
  const reading = (row: RunRow) => readRow(row, budgets);
  const minutes = `${(seconds / 60).toFixed(2)} minutes`;
  return alignedTable([
    [
      "arm",
      `after ${generatorSteps} generator steps`,
      "mean of five",
      "area under the curve",
      `after ${minutes}`,
      "mean of five",
    ],
    ...arms.map(({ arm, rows }) => [
      arm.name,
      share(overRuns(rows, (row) => reading(row).atSteps?.value ?? null)),
      share(overRuns(rows, (row) => reading(row).atSteps?.lastFive ?? null)),
      share(overRuns(rows, (row) => reading(row).atSteps?.area ?? null)),
      share(overRuns(rows, (row) => reading(row).atSeconds?.value ?? null)),
      share(overRuns(rows, (row) => reading(row).atSeconds?.lastFive ?? null)),
    ]),
  ]);
}

function reachTable(arms: readonly ArmRows[], target: number): string {
  return `## To ${percent(target)} %

${
    alignedTable([
      ["arm", "runs that reach it", "generator steps", "minutes"],
      ...arms.map(({ arm, rows }) => {
        const reached = rows.flatMap((row) => reachOf(row, target) ?? []);
        return [
          arm.name,
          `${reached.length} of ${rows.length}`,
          amount(measured(reached.map(({ steps }) => steps)), 1, 1),
          amount(measured(reached.map(({ seconds }) => seconds)), 60, 2),
        ];
      }),
    ])
  }

Steps and minutes are means over the runs that reach it: an arm of which fewer do looks faster than it is.`;
}

function differencesSection(differences: readonly ArmDifference[], baseline: string): string {
  const measures = Map.groupBy(differences, ({ measure }) => measure);
  if (measures.size === 0) {
    return `## Beside ${baseline}\n\nNo seed is finished by ${baseline} and by another arm yet.`;
  }
  const tables = [...measures].map(([measure, found]) =>
    `### ${measure[0].toUpperCase()}${measure.slice(1)}

${
      alignedTable([
        ["arm", "pairs", "difference", "bootstrap, 95 %", "t, 95 %"],
        ...found.map(({ arm, pairs, mean, bootstrap, t }) => [
          arm,
          String(pairs),
          signed(mean),
          interval(bootstrap),
          interval(t),
        ]),
      ])
    }`
  );
  return `## Beside ${baseline}

Points of accuracy: each arm minus ${baseline}, seed by seed. Equal budgets are those of each pair: where the shorter of
the two runs ended. Bootstrap: percentiles of ${BOOTSTRAP.resamples} resamples of the pairs (seed ${BOOTSTRAP.seed});
with few pairs it is too narrow. t: mean ± t·s/√n.

${tables.join("\n\n")}`;
}
