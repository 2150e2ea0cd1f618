/** `compare.md` and `compare.svg`. */

import { basename, join } from "node:path";
import { writeFileAtomically } from "../../base/atomic_file.ts";
import { CONTINUE } from "../store/run_folder.ts";
import { camelCased } from "../../base/camel_cased.ts";
import { countGeneratorSteps } from "../../rl/schedule/tango_schedule.ts";
import type { ComparedRun } from "./comparison.ts";
import {
  type AccuracyCurve,
  comparisonRows,
  type Measured,
  type MethodResult,
  readComparedRuns,
  type RunResult,
  type Spread,
  spreadCurve,
} from "./comparison_results.ts";
import { type LineSeries, renderLineCharts, SERIES_COLORS } from "../report/line_charts.ts";
import { alignedTable } from "../../base/table.ts";
import { problemsName } from "../problems/open_problems.ts";

/** Paths of a comparison's results. */
export const comparisonFiles = (path: string) => ({
  report: join(path, "compare.md"),
  curves: join(path, "compare.svg"),
});

/**
 * Writes compare.md and compare.svg from the runs that are finished; nothing when none is.
 *
 * @param runs all that were planned
 * @param path the comparison's folder
 * @returns the table, or null
 */
export function writeComparison(
  runs: readonly ComparedRun[],
  path: string,
  device: string,
): string | null {
  const results = readComparedRuns(runs);
  if (results.length === 0) return null;
  const { report, curves } = comparisonFiles(path);
  writeFileAtomically(curves, drawComparison(results), CONTINUE);
  writeFileAtomically(report, composeReport(runs, results, device), CONTINUE);
  return comparisonTable(results);
}

/** Method by method: mean ± sample standard deviation over its seeds. */
export function comparisonTable(results: readonly MethodResult[]): string {
  return alignedTable([
    ["", "runs", "generator accuracy", "verifier balanced accuracy"],
    ...comparisonRows(results).map((row) => [
      row.name,
      String(row.runs),
      describe(row.generatorAccuracy),
      describe(row.verifierBalancedAccuracy),
    ]),
  ]);
}

/** The means with a band of one standard deviation, against generator steps. */
export function drawComparison(results: readonly MethodResult[]): string {
  const lines = (courseOf: (run: RunResult) => AccuracyCurve | null) =>
    results.map(({ method, runs }, index): LineSeries => {
      const courses = runs.flatMap((run) => courseOf(run) ?? []);
      const curve = spreadCurve(courses);
      return {
        name: method.name,
        color: SERIES_COLORS[index],
        points: curve.map(({ step, spread }) => [step, spread.mean]),
        band: curve.map(({ spread }) => edges(spread)),
      };
    });
  const seeds = Math.max(...results.map(({ runs }) => runs.length));
  const subtitle = `mean over ${seeds} ${seeds === 1 ? "seed" : "seeds"}` +
    (seeds > 1 ? ", band: ± one standard deviation" : "");
  const common = { subtitle, xName: "generator steps", isShare: true };
  return renderLineCharts([
    { ...common, title: "Generator accuracy", series: lines(({ generator }) => generator) },
    {
      ...common,
      title: "Verifier balanced accuracy",
      series: lines(({ verifier }) => verifier),
      reference: { value: 0.5, label: "a verifier that guesses" },
    },
  ]);
}

const edges = ({ mean, deviation }: Spread) =>
  [Math.max(0, mean - deviation), Math.min(1, mean + deviation)] as const;

const percent = (value: number) => (100 * value).toFixed(1);

function describe(measured: Measured | null): string {
  if (measured === null) return "–";
  const { mean, deviation, runs } = measured;
  return runs === 1 ? `${percent(mean)} %` : `${percent(mean)} ± ${percent(deviation)} %`;
}

function composeReport(
  runs: readonly ComparedRun[],
  results: readonly MethodResult[],
  device: string,
): string {
  const [{ method: { config } }] = runs;
  const finished = results.flatMap((result) => result.runs);
  const total = config.schedule.total_training_steps;
  const generatorSteps = countGeneratorSteps(camelCased(config.schedule));
  const states = finished.length === runs.length
    ? `All ${runs.length} runs are done.`
    : `${finished.length} of ${runs.length} runs are done so far.`;
  const change = ({ start, end }: AccuracyCurve) => `${percent(start)} → ${percent(end)} %`;
  return `# Comparison on ${problemsName(config)}

${states} Each does ${generatorSteps} generator steps of ${config.rollout.batch_size} problems ×
${config.rollout.group_size} responses from the same starting weights. That is equal generator steps, not
equal computing: ${runs[0].method.name} does ${
    total - generatorSteps
  } verifier steps besides, and where
there is a verifier every generator step writes critiques too.

${comparisonTable(results)}

Measured on ${
    config.evaluation.problems ?? "all"
  } held-out problems, the same for every run, at the end of each:
mean ± sample standard deviation over the seeds. A verifier is measured on fresh solutions of its own
run's generator, so a frozen one changes too when its generator does.

![Means and spread](${basename(comparisonFiles("").curves)})

## Every run

${
    alignedTable([
      ["run", "generator accuracy", "verifier balanced accuracy"],
      ...finished.map(({ run, generator, verifier }) => [
        `[${run.method.name}, seed ${run.seed}](${basename(run.folder.path)}/report.md)`,
        change(generator),
        verifier ? change(verifier) : "–",
      ]),
    ])
  }

Device: ${device}. Each run's folder holds its configuration, metrics, samples, report and weights.
`;
}
