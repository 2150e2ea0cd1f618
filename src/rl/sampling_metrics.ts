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

/** A sampled answer: null when none could be read. */
export interface SampledAnswer {
  answer: string | null;
  correct: boolean;
}

/**
 * maj@k of one problem: 1 if the most frequent answer of the first k samples is correct, else 0.
 * Correct answers are one answer however they are spelled, for each equals the reference; wrong ones are
 * told apart by their text. Samples without an answer do not vote; of equally frequent answers the earliest
 * wins.
 * @throws Error when there are fewer than k samples.
 */
export function majorityAtK(samples: readonly SampledAnswer[], k: number): number {
  requireSamples(samples.length, k, `maj@${k}`);
  const votes = new Map<string, { count: number; correct: boolean }>();
  for (const { answer, correct } of samples.slice(0, k)) {
    if (answer === null) continue;
    const key = correct ? "correct" : `wrong ${answer}`;
    const vote = votes.get(key);
    if (vote) vote.count++;
    else votes.set(key, { count: 1, correct });
  }
  let winner = { count: 0, correct: false };
  for (const vote of votes.values()) if (vote.count > winner.count) winner = vote;
  return winner.correct ? 1 : 0;
}

function requireSamples(found: number, needed: number, metric: string): void {
  if (needed < 1 || found < needed) {
    throw new Error(
      `${metric}: found ${found} samples of a problem, expected at least ${Math.max(1, needed)}`,
    );
  }
}
