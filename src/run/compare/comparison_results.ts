/** Results of the runs of a comparison. */

import { mean, sampleVariance } from "../../base/statistics.ts";
import type { Arm } from "./arms.ts";
import { type CurveEnd, firstReach, readEnd, upTo } from "./curve.ts";
import { type PairedDifference, pairedDifference } from "./paired.ts";
import {
  byGeneratorSteps,
  bySeconds,
  byTokens,
  measuredBySeconds,
  type RunRow,
} from "./run_row.ts";

/** A measure at a run's start and at its end. */
export interface Ends {
  readonly start: number;
  readonly end: number;
}

/** Mean and sample standard deviation (n − 1; 0 for a single value). */
export interface Spread {
  readonly mean: number;
  readonly deviation: number;
}

/** Mean and spread of some values. */
export function spreadOf(values: readonly number[]): Spread {
  return { mean: mean(values), deviation: Math.sqrt(sampleVariance(values)) };
}

/** Finished runs of one arm, as far as the table goes. */
export interface ArmEnds {
  readonly arm: Pick<Arm, "name" | "needs">;
  readonly runs: readonly { readonly generator: Ends; readonly verifier: Ends | null }[];
}

/** Mean and spread over so many runs. */
export interface Measured extends Spread {
  readonly runs: number;
}

/** A row of the table, over finished runs; null where none has the measure. */
export interface ComparisonRow {
  readonly name: string;
  /** How many. */
  readonly runs: number;
  readonly generatorAccuracy: Measured | null;
  readonly verifierBalancedAccuracy: Measured | null;
}

/** The table: where all began, and where each arm came to. */
export function comparisonRows(results: readonly ArmEnds[]): ComparisonRow[] {
  const row = (name: string, runs: ArmEnds["runs"], when: keyof Ends): ComparisonRow => ({
    name,
    runs: runs.length,
    generatorAccuracy: measured(runs.map(({ generator }) => generator[when])),
    verifierBalancedAccuracy: measured(
      runs.flatMap(({ verifier }) => verifier ? [verifier[when]] : []),
    ),
  });
  // What begins with another arm's weights has no warm start.
  const unaided = results.filter(({ arm }) => arm.needs.length === 0);
  return [
    row("warm start", unaided.flatMap(({ runs }) => runs), "start"),
    ...results.map(({ arm, runs }) => row(arm.name, runs, "end")),
  ];
}

/** Mean and spread of some values; null of none. */
export function measured(values: readonly (number | null)[]): Measured | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : { ...spreadOf(known), runs: known.length };
}

/** First and last value of each measure in a row. */
export function endsOf(row: RunRow): { readonly generator: Ends; readonly verifier: Ends | null } {
  const first = row.evaluations[0], last = row.evaluations[row.evaluations.length - 1];
  return {
    generator: { start: first.accuracy, end: last.accuracy },
    verifier: first.verdicts === null || last.verdicts === null
      ? null
      : { start: first.verdicts, end: last.verdicts },
  };
}

/** Where the arms' curves are read together: where the first of them to end had come to. */
export interface Budgets {
  /** Null where no arm trains its generator. */
  readonly generatorSteps: number | null;
  readonly seconds: number | null;
}

/** The most that every run which trains its generator has done. */
export function commonBudgets(rows: readonly RunRow[]): Budgets {
  const trained = rows.filter(({ generatorSteps }) => generatorSteps > 0);
  const least = (values: readonly number[]) => values.length === 0 ? null : Math.min(...values);
  return {
    generatorSteps: least(trained.map(({ generatorSteps }) => generatorSteps)),
    seconds: least(trained.map(secondsOf)),
  };
}

/** Seconds of training before the last evaluation. */
const secondsOf = ({ evaluations }: RunRow) => evaluations[evaluations.length - 1].seconds;

/** A run's curve, read at its own end and at the budgets. */
export interface Readings {
  readonly end: CurveEnd;
  /** Share that is right without a wrong step, at its own end; null where the task cannot tell. */
  readonly sound: number | null;
  /** Null of a run that ended before. */
  readonly atSteps: CurveEnd | null;
  readonly atSeconds: CurveEnd | null;
}

/** Reads a run's curve. */
export function readRow(row: RunRow, { generatorSteps, seconds }: Budgets): Readings {
  const bySteps = byGeneratorSteps(row);
  const at = (curve: typeof bySteps, budget: number | null, measured = curve) => {
    const cut = budget === null ? null : upTo(curve, budget);
    // Where verifier steps come last, what was measured ends before the curve does.
    return cut && budget !== null ? readEnd(cut, upTo(measured, budget) ?? measured) : null;
  };
  return {
    end: readEnd(bySteps),
    sound: row.evaluations[row.evaluations.length - 1].sound,
    atSteps: at(bySteps, generatorSteps),
    atSeconds: at(bySeconds(row), seconds, measuredBySeconds(row)),
  };
}

/** What a run took to an accuracy. */
export interface Reach {
  /** Of the generator. */
  readonly steps: number;
  /** In training steps. */
  readonly seconds: number;
  /** Sampled and trained on; null where the row does not tell. */
  readonly tokens: number | null;
}

/** What a run took until its accuracy first reached the target; null where it never did. */
export function reachOf(row: RunRow, target: number): Reach | null {
  const steps = firstReach(byGeneratorSteps(row), target);
  const seconds = firstReach(bySeconds(row), target);
  const tokens = firstReach(byTokens(row), target);
  return steps === null || seconds === null ? null : { steps, seconds, tokens };
}

/** What an arm's runs take to where the baseline's of the same seeds end, as shares of what these took. */
export interface Efficiency {
  readonly arm: string;
  readonly pairs: number;
  /** One for each pair whose run comes that far; the others never do. */
  readonly shares: readonly Reach[];
}

/** How soon each other arm comes to the final accuracy of the baseline, seed by seed. */
export function efficiencyOf(baseline: string, rows: readonly RunRow[]): Efficiency[] {
  const ends = new Map(rows.filter(({ arm }) => arm === baseline).map((row) => [row.seed, row]));
  const others = Map.groupBy(
    rows.filter(({ arm, generatorSteps }) => arm !== baseline && generatorSteps > 0),
    ({ arm }) => arm,
  );
  return [...others].flatMap(([arm, runs]) => {
    const pairs = runs.flatMap((row) => {
      const end = ends.get(row.seed);
      return end === undefined || end.generatorSteps === 0 ? [] : [{ row, end }];
    });
    if (pairs.length === 0) return [];
    const shares = pairs.flatMap(({ row, end }): Reach[] => {
      const reach = reachOf(row, readRow(end, { generatorSteps: null, seconds: null }).end.value);
      if (reach === null) return [];
      const { tokens } = end.evaluations[end.evaluations.length - 1];
      return [{
        steps: reach.steps / end.generatorSteps,
        seconds: reach.seconds / secondsOf(end),
        tokens: reach.tokens === null || tokens === null ? null : reach.tokens / tokens,
      }];
    });
    return [{ arm, pairs: pairs.length, shares }];
  });
}

/** A row of the table of efficiency: shares over the pairs whose run comes as far as the baseline's; null of none. */
export interface EfficiencyRow {
  readonly name: string;
  readonly pairs: number;
  /** Pairs whose run comes that far. */
  readonly reached: number;
  readonly steps: Measured | null;
  /** Null where no row tells its tokens, too. */
  readonly tokens: Measured | null;
  readonly seconds: Measured | null;
}

/** The table of efficiency. */
export function efficiencyRows(found: readonly Efficiency[]): EfficiencyRow[] {
  return found.map(({ arm, pairs, shares }) => ({
    name: arm,
    pairs,
    reached: shares.length,
    steps: measured(shares.map(({ steps }) => steps)),
    tokens: measured(shares.map(({ tokens }) => tokens)),
    seconds: measured(shares.map(({ seconds }) => seconds)),
  }));
}

/** A measure by which an arm is set beside the baseline, and how a run of each gives it. */
const MEASURES: Readonly<Record<string, (readings: Readings) => number | null>> = {
  "accuracy at equal generator steps": ({ atSteps }) => atSteps && atSteps.value,
  "mean of the last five evaluations at equal generator steps": ({ atSteps }) =>
    atSteps && atSteps.lastFive,
  "area under the curve to equal generator steps": ({ atSteps }) => atSteps && atSteps.area,
  "accuracy at equal training seconds": ({ atSeconds }) => atSeconds && atSeconds.value,
  "mean of the last five evaluations at equal training seconds": ({ atSeconds }) =>
    atSeconds && atSeconds.lastFive,
  "final accuracy, each run at its own end": ({ end }) => end.value,
  "mean of the last five evaluations, each run at its own end": ({ end }) => end.lastFive,
  "right without a wrong step, each run at its own end": ({ sound }) => sound,
};

/** An arm minus the baseline, over the seeds that both have finished. */
export interface ArmDifference extends PairedDifference {
  readonly arm: string;
  readonly measure: string;
}

/**
 * Every arm minus the baseline, seed by seed, measure by measure. A pair's budgets are where the shorter of its two runs
 * ended.
 */
export function differencesTo(baseline: string, rows: readonly RunRow[]): ArmDifference[] {
  const bySeed = new Map(
    rows.filter(({ arm }) => arm === baseline).map((row) => [row.seed, row]),
  );
  const arms = [...new Set(rows.map(({ arm }) => arm))].filter((arm) => arm !== baseline);
  return Object.entries(MEASURES).flatMap(([measure, valueOf]) =>
    arms.flatMap((arm): ArmDifference[] => {
      const differences = rows.filter((row) => row.arm === arm).flatMap((row) => {
        const other = bySeed.get(row.seed);
        if (other === undefined) return [];
        const budgets = {
          generatorSteps: Math.min(row.generatorSteps, other.generatorSteps) || null,
          seconds: Math.min(secondsOf(row), secondsOf(other)),
        };
        const [value, beside] = [row, other].map((one) => valueOf(readRow(one, budgets)));
        return value === null || beside === null ? [] : [value - beside];
      });
      return differences.length === 0 ? [] : [{ arm, measure, ...pairedDifference(differences) }];
    })
  );
}
