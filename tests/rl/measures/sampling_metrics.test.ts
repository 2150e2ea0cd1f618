import assert from "node:assert/strict";
import fc from "fast-check";
import { AnswerJudge } from "../../../src/grading/answer_judge.ts";
import { clusterAnswers } from "../../../src/rl/measures/answer_clusters.ts";
import { majorityAtK, meanAtN, passAtK } from "../../../src/rl/measures/sampling_metrics.ts";

Deno.test("mean@n and pass@k by hand", () => {
  assert.equal(meanAtN([true, false, false, true]), 0.5);
  // 1 - C(3, 2) / C(5, 2) = 1 - 3/10.
  assert.ok(Math.abs(passAtK([true, false, true, false, false], 2) - 0.7) < 1e-12);
  assert.equal(passAtK([false, false], 2), 0);
  assert.equal(passAtK([false, true], 2), 1);
  assert.throws(() => passAtK([true], 2), /found 1 samples of a problem, expected at least 2/);
  assert.throws(() => meanAtN([]), /found 0 samples/);
});

Deno.test("property: pass@1 is mean@n, pass@k grows with k, pass@n is any", () => {
  fc.assert(fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }), (correct) => {
    assert.ok(Math.abs(passAtK(correct, 1) - meanAtN(correct)) < 1e-12);
    for (let k = 2; k <= correct.length; k++) {
      assert.ok(passAtK(correct, k) >= passAtK(correct, k - 1) - 1e-12);
    }
    assert.equal(passAtK(correct, correct.length), correct.includes(true) ? 1 : 0);
  }));
});

Deno.test("maj@k: the most frequent answer of the first k, the earliest of equals", async () => {
  const answers = async (given: readonly (string | null)[], correct: string) => {
    const clusters = await clusterAnswers(given, (answer, first) => answer === first);
    return given.map((answer, i) => ({ cluster: clusters[i], correct: answer === correct }));
  };
  assert.equal(majorityAtK(await answers(["7", "3", "3"], "7"), 3), 0);
  assert.equal(majorityAtK(await answers(["7", "3", "3"], "7"), 2), 1);
  assert.equal(majorityAtK(await answers([null, null, "7"], "7"), 3), 1);
  assert.equal(majorityAtK(await answers([null, null], "7"), 2), 0);
  assert.throws(() => majorityAtK([], 1), /found 0 samples/);
});

Deno.test("maj@k: however answers are spelled, and without a look at the reference", async () => {
  using judge = new AnswerJudge();
  const isSame = (answer: string, reference: string) =>
    judge.isCorrect({ comparison: "math", answer, reference });
  const given = ["3", "\\frac{1}{2}", "0.75", "0.5", null, "3/4", "1/2", "0.750"];
  const clusters = await clusterAnswers(given, isSame);
  assert.deepEqual(clusters, [0, 1, 2, 1, null, 2, 1, 2]);
  // 1/2 and 3/4 have three votes each and 1/2 came first, whichever of them the reference is. (Where only
  // right answers are put together, 3/4 wins as soon as it is the reference.)
  const right = (cluster: number) =>
    clusters.map((one) => ({ cluster: one, correct: one === cluster }));
  assert.equal(majorityAtK(right(1), 8), 1);
  assert.equal(majorityAtK(right(2), 8), 0);
  assert.equal(majorityAtK(right(0), 8), 0);
});

Deno.test("answers: of an equality that is not transitive, the order decides", async () => {
  const near = (answer: string, first: string) => Math.abs(Number(answer) - Number(first)) <= 1;
  assert.deepEqual(await clusterAnswers(["1", "2", "3"], near), [0, 0, 2]);
  assert.deepEqual(await clusterAnswers(["2", "1", "3"], near), [0, 0, 0]);
  // The first k alone give the same clusters.
  assert.deepEqual(await clusterAnswers(["1", "2"], near), [0, 0]);
});
