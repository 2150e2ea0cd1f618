/** How well verifiers judge the solutions of a bank. */

import { mean } from "../../base/statistics.ts";
import { UNREADABLE } from "../../rl/measures/verdict_probability.ts";
import { auroc } from "../../rl/measures/step_judgments.ts";
import { type Verification, verifierMetrics } from "../../rl/measures/verifier_metrics.ts";
import { parseSolution } from "../../rl/text/parse_solution.ts";
import type { Bank, BankSolution } from "./bank_file.ts";
import type { BankCritique, JudgedSource } from "./judgments_file.ts";

/** Measures of a verifier, shares from 0 to 1; absent where there is nothing to tell them from. */
export interface BankMeasures {
  /** Chance that a right solution has a higher mean P(CORRECT) than a wrong one. */
  readonly auroc?: number;
  /** Of single verdicts, as everywhere: one that cannot be read is wrong. */
  readonly balanced_accuracy: number;
  readonly step_balanced_accuracy?: number;
  readonly step_balanced_accuracy_in_wrong?: number;
  readonly step_auroc_in_wrong?: number;
  readonly step_auroc_in_wrong_by_place?: number;
  readonly first_error_accuracy?: number;
  readonly verdict_is_conjunction?: number;
  readonly own_result_differs?: number;
  readonly own_result_agrees?: number;
  readonly verdict_unparsed: number;
  readonly steps_equal: number;
  /** Share of the solutions of which the prompt had room for the beginning only. */
  readonly cut: number;
}

/** The measures in the order of tables. */
export const MEASURES = [
  "auroc",
  "balanced_accuracy",
  "step_balanced_accuracy",
  "step_balanced_accuracy_in_wrong",
  "step_auroc_in_wrong",
  "step_auroc_in_wrong_by_place",
  "first_error_accuracy",
  "verdict_is_conjunction",
  "own_result_differs",
  "own_result_agrees",
  "verdict_unparsed",
  "steps_equal",
  "cut",
] as const satisfies readonly (keyof BankMeasures)[];

/** Source of a row over all sources. */
export const ALL_SOURCES = "all";

/** A verifier measured on one source of a bank, or on all of them. */
export interface BankRow extends BankMeasures {
  readonly verifier: string;
  readonly run: string | null;
  readonly step: number;
  readonly source: string;
  readonly solutions: number;
  /** Critiques of each. */
  readonly samples: number;
}

/** A solution and its critiques. */
interface Judged {
  readonly solution: BankSolution;
  readonly critiques: readonly BankCritique[];
}

/** Rows of every verifier: one for each source that it has judged, and one over all of them where it has judged all. */
export function bankRows(
  { solutions, bySource }: Bank,
  judged: readonly JudgedSource[],
): BankRow[] {
  const byVerifier = [...Map.groupBy(judged, ({ verifier }) => verifier).values()];
  return byVerifier.flatMap((lines) => {
    const sources = [...bySource].flatMap(([source, places]) => {
      const line = lines.find((one) => one.source === source);
      if (line === undefined) return [];
      const judged = places.map((place, i) => ({
        solution: solutions[place],
        critiques: line.critiques[i],
      }));
      return [{ source, judged, cut: line.cut }];
    });
    const [{ verifier, run, step, settings: { samples } }] = lines;
    const row = (source: string, all: readonly Judged[], cut: number): BankRow => ({
      ...{ verifier, run, step, source, solutions: all.length, samples },
      ...measureJudged(all, cut),
    });
    const rows = sources.map(({ source, judged, cut }) => row(source, judged, cut));
    if (sources.length < bySource.size) return rows;
    const all = sources.flatMap(({ judged }) => judged);
    return [...rows, row(ALL_SOURCES, all, sources.reduce((sum, { cut }) => sum + cut, 0))];
  });
}

/** @param cut of how many solutions the prompt had room for the beginning only */
export function measureJudged(judged: readonly Judged[], cut: number): BankMeasures {
  const scores = judged.map(({ solution, critiques }) => ({
    isWrong: !solution.correct,
    score: 1 - mean(critiques.map(({ probability }) => probability ?? UNREADABLE)),
  }));
  const metrics = verifierMetrics(judged.flatMap(({ solution, critiques }) => {
    const stepCount = parseSolution(solution.solution).steps.length;
    return critiques.map(({ verdict, steps, doubts, own_differs }): Verification => ({
      verdict,
      solutionIsCorrect: solution.correct,
      stepJudgments: steps,
      stepDoubts: doubts,
      ownResultDiffers: own_differs,
      stepCount,
      goldSteps: solution.steps ?? undefined,
      solution,
    }));
  }));
  const known = <Name extends string>(name: Name, value: number | null) =>
    (value === null ? {} : { [name]: value }) as { readonly [name in Name]?: number };
  return {
    ...known(
      "auroc",
      new Set(scores.map(({ isWrong }) => isWrong)).size < 2 ? null : auroc(scores),
    ),
    balanced_accuracy: metrics.balancedAccuracy,
    ...known("step_balanced_accuracy", metrics.stepBalancedAccuracy),
    ...known("step_balanced_accuracy_in_wrong", metrics.stepBalancedAccuracyInWrong),
    ...known("step_auroc_in_wrong", metrics.stepAurocInWrong),
    ...known("step_auroc_in_wrong_by_place", metrics.stepAurocInWrongByPlace),
    ...known("first_error_accuracy", metrics.firstErrorAccuracy),
    ...known("verdict_is_conjunction", metrics.verdictIsConjunctionShare),
    ...known("own_result_differs", metrics.ownResultDiffersShare),
    ...known("own_result_agrees", metrics.ownResultAgreesShare),
    verdict_unparsed: metrics.unparsedShare,
    steps_equal: metrics.equalStepsShare,
    cut: cut / judged.length,
  };
}
