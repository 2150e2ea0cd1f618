import assert from "node:assert/strict";
import {
  crossEntropyOf,
  logitOf,
  lossWeights,
  probabilityOf,
} from "../../../src/rl/reward/solution_score.ts";
import { sumsOfSteps } from "../../../src/rl/reward/step_sums.ts";

const text = (length: number, factor: number) => ({
  prompt: Uint32Array.of(1),
  response: new Uint32Array(length),
  factor,
});
const close = (found: number, expected: number) =>
  assert.ok(Math.abs(found - expected) <= 1e-12, `${found}, expected ${expected}`);

Deno.test("solution score: β times the log-ratio, token by token", () => {
  const found = {
    own: [Float32Array.of(-1, -2), Float32Array.of(-0.5, -0.25, -3)],
    reference: [Float32Array.of(-1, -1), Float32Array.of(-1.5, -0.5, -2)],
  };
  const { logit, tokens } = logitOf([text(3, 0.5)], found, 1);
  assert.deepEqual([...tokens[0]], [0.5, 0.125, -0.5]);
  assert.equal(logit, 0.125);
});

Deno.test("solution score: two verdicts against each other, without a reference", () => {
  const own = [Float32Array.of(-0.25, -0.5), Float32Array.of(-2, -1)];
  const { logit } = logitOf([text(2, 1), text(2, -1)], { own, reference: null });
  assert.equal(logit, 2.25);
  close(probabilityOf(logit), 1 / (1 + Math.exp(-2.25)));
});

Deno.test("solution score: the cross-entropy is −log of what is true, also far out", () => {
  for (const logit of [-3, -0.5, 0, 2]) {
    close(crossEntropyOf(logit, true), -Math.log(1 / (1 + Math.exp(-logit))));
    close(crossEntropyOf(logit, false), -Math.log(1 - 1 / (1 + Math.exp(-logit))));
  }
  assert.equal(crossEntropyOf(-2000, true), 2000);
  assert.equal(crossEntropyOf(2000, true), 0);
  // exp(−40) to the last bit of a double, which 1 − P cannot say.
  assert.equal(crossEntropyOf(40, true), Math.exp(-40));
});

Deno.test("solution score: what tokens weigh is the loss's derivative by their log-probs", () => {
  const solutions = [
    { texts: [text(2, 1), text(1, -1)], isCorrect: true, weight: 0.5 },
    { texts: [text(3, 0.05)], isCorrect: false, weight: 2 },
    { texts: [text(1, 0.05)], isCorrect: true, weight: 1.5 },
  ];
  const reference = [[0, 0], [0], [-1, -1.5, -2], [-0.25]].map((row) => Float32Array.from(row));
  const rows = [[-0.5, -1], [-0.75], [-0.5, -1, -2.5], [-1]];
  const lossOf = (logProbs: readonly (readonly number[])[]) => {
    const found = { own: logProbs.map((row) => Float64Array.from(row)), reference };
    return lossWeights(solutions, found as never);
  };
  const { weights, loss, weight } = lossOf(rows);
  assert.equal(weight, 4);
  // By hand: z = −1.5 + 0.75 and 0.05 · (0.5 + 0.5 − 0.5) and 0.05 · −0.75.
  const logits = [-0.75, 0.025, -0.0375];
  const softplus = (x: number) => Math.log(1 + Math.exp(x));
  close(loss, 0.5 * softplus(0.75) + 2 * softplus(0.025) + 1.5 * softplus(0.0375));
  const p = logits.map((z) => 1 / (1 + Math.exp(-z)));
  const byHand = [
    0.5 * (1 - p[0]) / 4,
    -0.5 * (1 - p[0]) / 4,
    -2 * p[1] * 0.05 / 4,
    1.5 * (1 - p[2]) * 0.05 / 4,
  ];
  weights.forEach((found, t) => close(found, byHand[t]));
  // Σ weight · −log P has the derivative −weight by each log-prob; differences are good to 1e-10 there.
  rows.forEach((row, t) =>
    row.forEach((_, i) => {
      const moved = (by: number) => {
        const changed = rows.map((own) => [...own]);
        changed[t][i] += by;
        return lossOf(changed).loss / weight;
      };
      const slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
      assert.ok(Math.abs(slope + weights[t]) < 1e-9, `text ${t}, token ${i}`);
    })
  );
});

Deno.test("step sums: each step has the tokens after the one before it", () => {
  const tokens = Float64Array.of(1, 2, 3, 4, 5, 6);
  assert.deepEqual(sumsOfSteps(tokens, [1, 3]), [3, 7]);
  assert.deepEqual(sumsOfSteps(tokens, [0, 0, 5]), [1, 0, 20]);
  assert.deepEqual(sumsOfSteps(tokens, []), []);
});
