import assert from "node:assert/strict";
import fc from "fast-check";
import {
  bestAtK,
  bestFirst,
  type WeighedAnswer,
  weightedVoteAtK,
} from "../../../src/rl/measures/choice_metrics.ts";
import { passAtK } from "../../../src/rl/measures/sampling_metrics.ts";

/** A sample that gives an answer, of which "r" alone is right. */
const sample = (answer: string | null, quality: number, all: readonly (string | null)[]) => ({
  cluster: answer === null ? null : all.indexOf(answer),
  correct: answer === "r",
  quality,
});

function samples(...given: readonly [string | null, number][]): WeighedAnswer[] {
  const answers = given.map(([answer]) => answer);
  return given.map(([answer, quality]) => sample(answer, quality, answers));
}

/** All subsets of k of n places by counting through the bits. */
function subsets(n: number, k: number): number[][] {
  const found: number[][] = [];
  for (let bits = 0; bits < 2 ** n; bits++) {
    const places = Array.from({ length: n }, (_, i) => i).filter((i) => (bits >> i) & 1);
    if (places.length === k) found.push(places);
  }
  return found;
}

const over = (n: number, k: number, score: (places: number[]) => boolean) => {
  const all = subsets(n, k);
  return all.filter(score).length / all.length;
};

/** Of the best sample, looked for by hand. */
function bestIsRight(given: readonly WeighedAnswer[], places: readonly number[]): boolean {
  const highest = Math.max(...places.map((i) => given[i].quality));
  const first = places.find((i) => given[i].quality === highest);
  return first !== undefined && given[first].correct;
}

/** Of the answer with the largest sum, looked for by hand. */
function voteIsRight(given: readonly WeighedAnswer[], places: readonly number[]): boolean {
  const answered = places.filter((i) => given[i].cluster !== null);
  const sumOf = (cluster: number | null) =>
    answered.filter((i) => given[i].cluster === cluster)
      .reduce((sum, i) => sum + given[i].quality, 0);
  const largest = Math.max(...answered.map((i) => sumOf(given[i].cluster)));
  const first = answered.find((i) => sumOf(given[i].cluster) === largest);
  return first !== undefined && given[first].correct;
}

const near = (found: number, expected: number) =>
  assert.ok(Math.abs(found - expected) < 1e-12, `${found}, expected ${expected}`);

Deno.test("bon@k by hand", () => {
  const given = samples(["x", 0.9], ["r", 0.8], ["r", 0.1], ["y", 0.5]);
  // Of the 6 pairs, the right one of 0.8 is best in 2: with 0.1 and with 0.5.
  near(bestAtK(given, 2), 2 / 6);
  near(bestAtK(given, 1), 1 / 2);
  // Three of the four triples have the wrong one of 0.9.
  near(bestAtK(given, 3), 1 / 4);
  assert.equal(bestAtK(given, 4), 0);
  // Of equals the earliest is taken.
  assert.equal(bestAtK(samples(["r", 0.5], ["x", 0.5]), 2), 1);
  assert.equal(bestAtK(samples(["x", 0.5], ["r", 0.5]), 2), 0);
  assert.throws(() => bestAtK(given, 5), /found 4 samples of a problem, expected at least 5/);
  assert.deepEqual(bestFirst([0.25, 0.5, 0.75, 0.5]), [2, 1, 3, 0]);
});

Deno.test("weighted vote by hand: sums of qualities, the earliest of equals", () => {
  // Two wrong votes of 0.3 each against one right of 0.7.
  const given = samples(["x", 0.3], ["r", 0.7], ["x", 0.3]);
  assert.equal(weightedVoteAtK(given, 3), 1);
  // Pairs: x r → r, x x → x, r x → r.
  near(weightedVoteAtK(given, 2), 2 / 3);
  near(weightedVoteAtK(given, 1), 1 / 3);
  assert.equal(weightedVoteAtK(samples(["x", 0.25], ["r", 0.5], ["x", 0.25]), 3), 0);
  assert.equal(weightedVoteAtK(samples(["r", 0], ["x", 0]), 2), 1);
  assert.equal(weightedVoteAtK(samples([null, 1], ["r", 0.1]), 2), 1);
  assert.equal(weightedVoteAtK(samples([null, 1], [null, 0.1]), 2), 0);
  assert.throws(() => weightedVoteAtK([], 1), /found 0 samples/);
});

Deno.test("property: both are the mean over all subsets, and at most pass@k", () => {
  // Few values, in binary fractions: ties are common, and sums exact.
  const one = fc.tuple(
    fc.constantFrom("r", "x", "y", null),
    fc.constantFrom(0, 0.25, 0.5, 1),
  );
  fc.assert(fc.property(fc.array(one, { minLength: 1, maxLength: 8 }), (list) => {
    const given = samples(...list);
    for (let k = 1; k <= given.length; k++) {
      const best = bestAtK(given, k), vote = weightedVoteAtK(given, k);
      near(best, over(given.length, k, (places) => bestIsRight(given, places)));
      near(vote, over(given.length, k, (places) => voteIsRight(given, places)));
      const passed = passAtK(given.map(({ correct }) => correct), k);
      assert.ok(best <= passed + 1e-12 && vote <= passed + 1e-12);
    }
  }));
});

Deno.test("weighted vote: of too many subsets those that follow one another are taken", () => {
  // 20 samples, of which the first 11 are right: C(20, 10) = 184,756.
  const given = samples(
    ...Array.from({ length: 20 }, (_, i): [string, number] => [i < 11 ? "r" : "x", 1]),
  );
  let right = 0;
  for (let first = 0; first < 20; first++) {
    const places = Array.from({ length: 10 }, (_, i) => (first + i) % 20).sort((a, b) => a - b);
    if (voteIsRight(given, places)) right++;
  }
  assert.ok(right > 0 && right < 20);
  near(weightedVoteAtK(given, 10), right / 20);
});
