/** The tables of compare.md. */

import { alignedTable } from "../../base/table.ts";
import type { ArmRows } from "./arm_rows.ts";
import {
  type ArmDifference,
  type Budgets,
  comparisonRows,
  type Efficiency,
  efficiencyRows,
  endsOf,
  type Measured,
  measured,
  reachOf,
  readRow,
} from "./comparison_results.ts";
import { BOOTSTRAP, type Interval } from "./paired.ts";
import type { RunRow } from "./run_row.ts";

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

/** Over an arm's runs: a number of each, in its own words. */
function overRuns(rows: readonly RunRow[], valueOf: (row: RunRow) => number | null) {
  return measured(rows.map(valueOf));
}

/** Each arm at its own end. */
export function endTable(arms: readonly ArmRows[]): string {
  const none: Budgets = { generatorSteps: null, seconds: null };
  return alignedTable([
    [
      "arm",
      "runs",
      "generator steps",
      "minutes",
      "final accuracy",
      "every step right too",
      "mean of the last five",
      "area under the curve",
    ],
    ...arms.map(({ arm, rows }) => [
      arm.name,
      String(rows.length),
      amount(overRuns(rows, ({ generatorSteps }) => generatorSteps)),
      amount(overRuns(rows, ({ seconds }) => seconds), 60, 2),
      share(overRuns(rows, (row) => readRow(row, none).end.value)),
      share(overRuns(rows, (row) => readRow(row, none).sound)),
      share(overRuns(rows, (row) => readRow(row, none).end.lastFive)),
      share(overRuns(rows, (row) => readRow(row, none).end.area)),
    ]),
  ]);
}

/** Each arm's verifier at its own end, with its heading; empty where no arm has one. */
export function verifierTable(arms: readonly ArmRows[]): string {
  const last = ({ evaluations }: RunRow) => evaluations[evaluations.length - 1];
  const judging = arms.filter(({ rows }) => rows.some((row) => last(row).verdicts !== null));
  if (judging.length === 0) return "";
  return `## Each arm's verifier at its own end

${
    alignedTable([
      [
        "arm",
        "runs",
        "verdicts",
        "step judgments",
        "AUROC in wrong solutions",
        "first wrong step",
        "verdict follows from steps",
      ],
      ...judging.map(({ arm, rows }) => [
        arm.name,
        String(rows.length),
        share(overRuns(rows, (row) => last(row).verdicts)),
        share(overRuns(rows, (row) => last(row).steps)),
        amount(overRuns(rows, (row) => last(row).stepAurocInWrong), 1, 3),
        share(overRuns(rows, (row) => last(row).firstError)),
        share(overRuns(rows, (row) => last(row).consistency)),
      ]),
    ])
  }

Verdicts and step judgments: balanced accuracy on fresh solutions of the run's own generator.`;
}

/** Each arm where the first run to end had come to. */
export function budgetTable(arms: readonly ArmRows[], budgets: Budgets): string {
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

/** Steps and minutes to an accuracy, with its heading. */
export function reachTable(arms: readonly ArmRows[], target: number): string {
  return `## To ${percent(target)} %

${
    alignedTable([
      ["arm", "runs that reach it", "generator steps", "tokens, millions", "minutes"],
      ...arms.map(({ arm, rows }) => {
        const reached = rows.flatMap((row) => reachOf(row, target) ?? []);
        return [
          arm.name,
          `${reached.length} of ${rows.length}`,
          amount(measured(reached.map(({ steps }) => steps)), 1, 1),
          amount(measured(reached.map(({ tokens }) => tokens)), 1e6, 2),
          amount(measured(reached.map(({ seconds }) => seconds)), 60, 2),
        ];
      }),
    ])
  }

Means over the runs that reach it: an arm of which fewer do looks faster than it is.`;
}

/** What each arm takes to the baseline's final accuracy, with its heading; empty without a pair. */
export function efficiencySection(found: readonly Efficiency[], baseline: string): string {
  if (found.length === 0) return "";
  return `## To the final accuracy of ${baseline}

${
    alignedTable([
      ["arm", "pairs that reach it", "generator steps", "tokens", "seconds"],
      ...efficiencyRows(found).map(({ name, pairs, reached, steps, tokens, seconds }) => [
        name,
        `${reached} of ${pairs}`,
        share(steps),
        share(tokens),
        share(seconds),
      ]),
    ])
  }

Of what the run of ${baseline} with the same seed took for all of its training: less than 100 % is sooner. Tokens are those
sampled and trained on, critiques among them. Means over the pairs that reach it, as above.`;
}

/** Each arm minus the baseline, with its heading. */
export function differencesSection(
  differences: readonly ArmDifference[],
  baseline: string,
): string {
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

/** What each run began and ended with. */
export function runsTable(rows: readonly RunRow[]): string {
  return alignedTable([
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
  ]);
}

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
