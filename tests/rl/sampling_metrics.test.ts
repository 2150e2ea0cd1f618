import assert from "node:assert/strict";
import fc from "fast-check";
import { majorityAtK, meanAtN, passAtK } from "../../src/rl/sampling_metrics.ts";

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

Deno.test("maj@k: the most frequent answer of the first k, the earliest of equals", () => {
  const sample = (answer: string | null) => ({ answer, correct: answer === "7" });
  assert.equal(majorityAtK(["7", "3", "3"].map(sample), 3), 0);
  assert.equal(majorityAtK(["7", "3", "3"].map(sample), 2), 1);
  assert.equal(majorityAtK([null, null, "7"].map(sample), 3), 1);
  assert.equal(majorityAtK([null, null].map(sample), 2), 0);
  const spelled = ["3", "1/2", "0.5", "3"].map((answer) => ({
    answer,
    correct: answer !== "3",
  }));
  assert.equal(majorityAtK(spelled.slice(0, 3), 3), 1, "1/2 and 0.5 are one answer");
  assert.equal(majorityAtK(spelled, 4), 0, "the earlier of two equally frequent ones");
  assert.throws(() => majorityAtK([], 1), /found 0 samples/);
});
