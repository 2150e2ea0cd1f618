/** Measures of choosing among a problem's samples by what a verifier thinks of each. */

import { requireSamples, type SampledAnswer } from "./sampling_metrics.ts";

/** A sampled answer and the verifier's belief in it. */
export interface WeighedAnswer extends SampledAnswer {
  /** Mean P(CORRECT) over the critiques of the sample, 0 to 1. */
  readonly quality: number;
}

/** Places of values, the largest first, the earliest of equals. */
export function bestFirst(values: readonly number[]): number[] {
  return [...values.keys()].sort((a, b) => values[b] - values[a] || a - b);
}

/**
 * bon@k of one problem: the chance that of k samples the one of highest quality is correct (best of n). The mean over
 * all subsets of k of the n >= k samples, of which a sample is the best of C(samples ranked below it, k - 1). Of equal
 * qualities the earliest wins.
 * @throws Error when there are fewer than k samples.
 */
export function bestAtK(samples: readonly WeighedAnswer[], k: number): number {
  requireSamples(samples.length, k, `bon@${k}`);
  const n = samples.length;
  const ranked = bestFirst(samples.map(({ quality }) => quality)).map((i) => samples[i]);
  // C(n - 1, k - 1) / C(n, k) = k / n for the best of all; each one further down loses a factor.
  let chance = k / n, sum = 0;
  ranked.forEach(({ correct }, rank) => {
    if (correct) sum += chance;
    const below = n - 1 - rank;
    chance *= below > 0 ? Math.max(0, below - (k - 1)) / below : 0;
  });
  return sum;
}

/** Subsets over which a weighted vote is averaged exactly: all of 16 samples' halves. */
const MOST_SUBSETS = 12_870;

/**
 * vote@k of one problem: whether of k samples the answer whose samples have the largest sum of qualities is correct. The
 * mean over all subsets of k of the n >= k samples; where there are more than 12,870 of those, over the n subsets of k
 * samples that follow one another, the first after the last. Samples without an answer do not vote; of equal
 * sums, such as 0 for all, the earliest wins.
 * @throws Error when there are fewer than k samples.
 */
export function weightedVoteAtK(samples: readonly WeighedAnswer[], k: number): number {
  requireSamples(samples.length, k, `vote@${k}`);
  let sum = 0, count = 0;
  for (const places of subsetsOf(samples.length, k)) {
    if (votedRight(samples, places)) sum++;
    count++;
  }
  return sum / count;
}

/** @param places of the samples that vote, in their order */
function votedRight(samples: readonly WeighedAnswer[], places: readonly number[]): boolean {
  const votes = new Map<number, { weight: number; readonly correct: boolean }>();
  for (const place of places) {
    const { cluster, correct, quality } = samples[place];
    if (cluster === null) continue;
    const vote = votes.get(cluster);
    if (vote) vote.weight += quality;
    else votes.set(cluster, { weight: quality, correct });
  }
  let winner = { weight: -1, correct: false };
  for (const vote of votes.values()) if (vote.weight > winner.weight) winner = vote;
  return winner.correct;
}

/** Which subsets of k of n places are looked at; each in ascending order. */
function* subsetsOf(n: number, k: number): Generator<readonly number[]> {
  if (binomial(n, k) > MOST_SUBSETS) {
    for (let first = 0; first < n; first++) {
      yield Array.from({ length: k }, (_, i) => (first + i) % n).sort((a, b) => a - b);
    }
    return;
  }
  const places = Array.from({ length: k }, (_, i) => i);
  while (true) {
    yield places;
    let moved = k - 1;
    while (moved >= 0 && places[moved] === n - k + moved) moved--;
    if (moved < 0) return;
    places[moved]++;
    for (let i = moved + 1; i < k; i++) places[i] = places[i - 1] + 1;
  }
}

function binomial(n: number, k: number): number {
  let value = 1;
  for (let i = 1; i <= k; i++) value = value * (n - k + i) / i;
  return Math.round(value);
}
