import { groupIndices, mean } from "../../base/statistics.ts";
import { spreadPlaces } from "../../base/spread_places.ts";
import { passAtK } from "./sampling_metrics.ts";

/** Samples of each problem by which is told whether there is something to learn. */
export const LEARNABILITY_SAMPLES = 8;

/** So many of the held-out problems: the first, or where they are of several sources some of each. */
export function learnabilityProblems<Problem>(
  held: readonly Problem[],
  count: number,
  sourceName: (problem: Problem) => string,
): readonly Problem[] {
  const isOfOne = new Set(held.map(sourceName)).size <= 1;
  return isOfOne
    ? held.slice(0, count)
    : spreadPlaces(held.length, count).map((place) => held[place]);
}

/** How much a generator's samples of the same problems differ: all that comparing them can teach. Shares from 0 to 1. */
export interface Learnability {
  readonly problems: number;
  readonly passAt1: number;
  readonly passAt8: number;
  /** Share of problems of whose samples some are right and some are wrong. */
  readonly mixedShare: number;
}

/**
 * @param isCorrect of each sample, 8 of each problem or more
 * @param problems the problem of each sample
 */
export function learnability(
  isCorrect: readonly boolean[],
  problems: readonly number[],
): Learnability {
  const groups = groupIndices(problems).map((members) => members.map((i) => isCorrect[i]));
  const over = (score: (group: readonly boolean[]) => number) => mean(groups.map(score));
  return {
    problems: groups.length,
    passAt1: over((group) => passAtK(group, 1)),
    passAt8: over((group) => passAtK(group, LEARNABILITY_SAMPLES)),
    mixedShare: over((group) => new Set(group).size === 2 ? 1 : 0),
  };
}

/** Why there is next to nothing to learn from such samples; null where there is. */
export function nothingToLearn({ passAt1, passAt8, mixedShare }: Learnability): string | null {
  const isNarrow = passAt8 - passAt1 < 0.05;
  const isFlat = mixedShare < 0.1;
  if (!isNarrow && !isFlat) return null;
  const found = [
    ...(isNarrow ? ["pass@8 is less than 5 points above pass@1"] : []),
    ...(isFlat ? ["less than 10 % of the problems have both right and wrong samples"] : []),
  ].join(" and ");
  return `There is next to nothing to learn from: ${found}. ${
    passAt1 < 0.5
      ? "Take easier problems, weights that solve some of them (./tango sft), or a higher rollout.temperature."
      : "Take harder problems."
  }`;
}

/** The measures of 8 samples of each problem, in the order of the problems. */
export function learnabilityOf(
  solutions: readonly { readonly correct: boolean }[],
): Learnability {
  return learnability(
    solutions.map(({ correct }) => correct),
    solutions.map((_, i) => Math.floor(i / LEARNABILITY_SAMPLES)),
  );
}

/** It in one line. */
export function describeLearnability(
  { problems, passAt1, passAt8, mixedShare }: Learnability,
): string {
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  return `${problems} problems × ${LEARNABILITY_SAMPLES} samples: pass@1 ${
    percent(passAt1)
  }, pass@8 ${percent(passAt8)}, mixed groups (neither all right nor all wrong) ${
    percent(mixedShare)
  }`;
}
