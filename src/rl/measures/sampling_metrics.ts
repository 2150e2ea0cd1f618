/** mean@n: the share of correct samples of one problem. */
export function meanAtN(correct: readonly boolean[]): number {
  requireSamples(correct.length, 1, "mean@n");
  return correct.filter((isCorrect) => isCorrect).length / correct.length;
}

/**
 * pass@k of one problem: the chance that at least one of k samples is correct, estimated without bias
 * from n >= k samples as 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374).
 * @throws Error when there are fewer than k samples.
 */
export function passAtK(correct: readonly boolean[], k: number): number {
  requireSamples(correct.length, k, `pass@${k}`);
  const n = correct.length;
  const wrong = correct.filter((isCorrect) => !isCorrect).length;
  if (wrong < k) return 1;
  let allWrong = 1;
  for (let i = 0; i < k; i++) allWrong *= (wrong - i) / (n - i);
  return 1 - allWrong;
}

/** A sampled answer. */
export interface SampledAnswer {
  /** Place of the first sample with the same answer; null when no answer could be read. */
  readonly cluster: number | null;
  readonly correct: boolean;
}

/**
 * maj@k of one problem: 1 if the most frequent answer of the first k samples is correct, else 0. Which
 * answers are the same, `clusterAnswers` says, without the reference; a cluster is as correct as its first
 * answer. Samples without an answer do not vote; of equally frequent answers the earliest wins.
 * @throws Error when there are fewer than k samples.
 */
export function majorityAtK(samples: readonly SampledAnswer[], k: number): number {
  requireSamples(samples.length, k, `maj@${k}`);
  const votes = new Map<number, { count: number; readonly correct: boolean }>();
  for (const { cluster, correct } of samples.slice(0, k)) {
    if (cluster === null) continue;
    const vote = votes.get(cluster);
    if (vote) vote.count++;
    else votes.set(cluster, { count: 1, correct });
  }
  let winner = { count: 0, correct: false };
  for (const vote of votes.values()) if (vote.count > winner.count) winner = vote;
  return winner.correct ? 1 : 0;
}

/** @throws Error when there are fewer samples than a metric needs */
export function requireSamples(found: number, needed: number, metric: string): void {
  if (needed < 1 || found < needed) {
    throw new Error(
      `${metric}: found ${found} samples of a problem, expected at least ${Math.max(1, needed)}`,
    );
  }
}
