import type { Dropped } from "../../data/files/load_report.ts";
import type { BenchmarkGroup, Suite } from "../config/suite_schema.ts";
import type { GradedAnswers, Share } from "./grade_answers.ts";
import type { GradedCritiques } from "./grade_critiques.ts";

interface Measured {
  readonly name: string;
  /** Problems that were measured, the first ones of the files. */
  readonly problems: number;
  /** Problems that the files have. */
  readonly all: number;
  /** Problems that the suite says there are; null where it does not say. */
  readonly expected: number | null;
  /** Problems among those measured that did not fit the model; they count as wrong. */
  readonly tooLong: number;
  readonly leftOut: readonly Dropped[];
}

/** What a generator does on a benchmark. */
export interface SolvedBenchmark extends Measured {
  readonly group: Exclude<BenchmarkGroup, "process">;
  readonly greedy: GradedAnswers;
  /** Null where only the likeliest answer was asked for. */
  readonly sampled: GradedAnswers | null;
}

/** What a verifier does on written solutions. */
export interface JudgedBenchmark extends Measured {
  readonly group: "process";
  readonly critiques: GradedCritiques;
}

export type BenchmarkResult = SolvedBenchmark | JudgedBenchmark;

/** Whether a result is of the whole benchmark: only such results are averaged, or set beside published ones. */
export function isWhole({ problems, all, expected }: BenchmarkResult): boolean {
  return problems === all && all === (expected ?? all);
}

/** Averages over the benchmarks of a group, each counting alike. */
export interface GroupAverage {
  /** Of greedy accuracies, or of F1. */
  readonly greedy: Share;
  readonly sampled: Share | null;
}

/** The average of a group; null unless each benchmark that the suite has in it was measured whole. */
export function groupAverage(
  { benchmarks }: Suite,
  group: BenchmarkGroup,
  results: readonly BenchmarkResult[],
): GroupAverage | null {
  const wanted = benchmarks.filter((one) => one.group === group);
  const found = wanted.flatMap(({ name }) =>
    results.filter((result) => result.name === name && isWhole(result))
  );
  const scores = found.map(scoreOf).filter((score) => score !== null);
  if (scores.length === 0 || scores.length < wanted.length) return null;
  const sampled = found.flatMap((result) =>
    result.group !== "process" && result.sampled !== null ? [result.sampled.accuracy] : []
  );
  return {
    greedy: averageOf(scores),
    sampled: sampled.length === found.length ? averageOf(sampled) : null,
  };
}

/** The number that a benchmark goes by: greedy accuracy, or F1. */
function scoreOf(result: BenchmarkResult): Share | null {
  return result.group === "process" ? result.critiques.f1 : result.greedy.accuracy;
}

/** Benchmarks have no problem in common: their errors add up as independent ones do. */
function averageOf(shares: readonly Share[]): Share {
  return {
    value: shares.reduce((sum, { value }) => sum + value, 0) / shares.length,
    error: Math.hypot(...shares.map(({ error }) => error)) / shares.length,
  };
}
