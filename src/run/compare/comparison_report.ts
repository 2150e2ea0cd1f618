/** What a comparison leaves: `rows.csv`, `compare.json`, `compare.md` and `compare.svg`. */

import { basename } from "node:path";
import { writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { problemsName } from "../problems/open_problems.ts";
import { CONTINUE } from "../store/run_folder.ts";
import { type ArmRows, byArm } from "./arm_rows.ts";
import type { Arm } from "./arms.ts";
import { drawComparison } from "./comparison_chart.ts";
import { csvOf } from "./comparison_csv.ts";
import { comparisonFiles, type StoredComparison } from "./comparison_folder.ts";
import {
  type ArmDifference,
  commonBudgets,
  differencesTo,
  efficiencyOf,
} from "./comparison_results.ts";
import {
  budgetTable,
  comparisonTable,
  differencesSection,
  efficiencySection,
  endTable,
  reachTable,
  runsTable,
  verifierTable,
} from "./comparison_tables.ts";
import { BOOTSTRAP } from "./paired.ts";
import type { RunRow } from "./run_row.ts";

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
    efficiency: efficiencyOf(baseline, rows),
    rows,
  };
}

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
  const verifiers = verifierTable(arms);
  const efficiency = efficiencySection(efficiencyOf(baseline, rows), baseline);
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

${verifiers === "" ? "" : `${verifiers}\n\n`}## At equal budgets

${budgetTable(arms, budgets)}

An arm's curve is read between its evaluations by a straight line; the mean of the last five is of that reading
and the four evaluations before it. These budgets are where the first run to end had come to; a run is never made
longer than its arm's \`steps\` or the configuration says, and an arm whose learning rate or α falls to the end
of its run is read before it has fallen where it was given more steps.
${target === null ? "" : `\n${reachTable(arms, target)}\n`}
${differencesSection(differences, baseline)}
${efficiency === "" ? "" : `\n${efficiency}\n`}
## Every run

${runsTable(rows)}

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
