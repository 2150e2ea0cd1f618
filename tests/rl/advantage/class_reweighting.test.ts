import assert from "node:assert/strict";
import fc from "fast-check";
import {
  classCoefficients,
  updateClassCounts,
} from "../../../src/rl/advantage/class_reweighting.ts";

const labels = (positive: number, negative: number) => [
  ...new Array<boolean>(positive).fill(true),
  ...new Array<boolean>(negative).fill(false),
];

Deno.test("counts start from the first batch and then move by 1 - decay", () => {
  const first = updateClassCounts(null, labels(8, 2), 0.8);
  assert.deepEqual(first, { positive: 8, negative: 2 });
  const second = updateClassCounts(first, labels(3, 7), 0.8);
  assert.ok(Math.abs(second.positive - 7) < 1e-12 && Math.abs(second.negative - 3) < 1e-12);
  assert.deepEqual(JSON.parse(JSON.stringify(second)), second);
  assert.throws(() => updateClassCounts(null, labels(1, 1), 1), /class count decay: found 1/);
});

Deno.test("sqrt_inverse and inverse weights by hand", () => {
  const counts = { positive: 4, negative: 1 };
  // Weights 1/2 (four times) and 1: sum 3, so scaled by 5/3.
  const sqrt = classCoefficients(counts, labels(4, 1), "sqrt_inverse");
  assert.ok(Math.abs(sqrt.positive - 5 / 6) < 1e-12 && Math.abs(sqrt.negative - 5 / 3) < 1e-12);
  // Weights 1/4 (four times) and 1: sum 2, so scaled by 5/2.
  const inverse = classCoefficients(counts, labels(4, 1), "inverse");
  assert.deepEqual(inverse.perSample, [0.625, 0.625, 0.625, 0.625, 2.5]);
  assert.deepEqual(classCoefficients(counts, labels(1, 1), "none").perSample, [1, 1]);
});

Deno.test("a class never seen weighs nothing and breaks nothing", () => {
  const result = classCoefficients({ positive: 5, negative: 0 }, labels(5, 0), "sqrt_inverse");
  result.perSample.forEach((weight) => assert.ok(Math.abs(weight - 1) < 1e-12));
  assert.equal(result.negative, 0);
});

Deno.test("property: the batch mean is 1 and the rarer class weighs more", () => {
  const batches = fc.array(fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(fc.property(batches, (all) => {
    let counts = null;
    for (const batch of all) {
      counts = updateClassCounts(counts, batch, 0.8);
      for (const method of ["inverse", "sqrt_inverse", "none"] as const) {
        const { perSample, positive, negative } = classCoefficients(counts, batch, method);
        const mean = perSample.reduce((sum, weight) => sum + weight, 0) / batch.length;
        assert.ok(Math.abs(mean - 1) < 1e-9);
        if (method !== "none" && counts.positive > counts.negative + 1e-9 && counts.negative > 0) {
          assert.ok(positive < negative);
        }
      }
    }
  }));
});

Deno.test("scaled over the moving average, a class weighs the same in a batch of one class", () => {
  const counts = { positive: 1, negative: 3 };
  // Weights 1 and 1/3; over 1 and 3 samples their mean is (1 + 1) / 4.
  const mixed = classCoefficients(counts, labels(2, 2), "inverse", "average");
  assert.deepEqual(mixed.perSample, [2, 2, 2 / 3, 2 / 3]);
  const wrong = classCoefficients(counts, labels(0, 4), "inverse", "average");
  assert.deepEqual(wrong.perSample, [2 / 3, 2 / 3, 2 / 3, 2 / 3]);
  assert.deepEqual(classCoefficients(counts, labels(0, 4), "inverse").perSample, [1, 1, 1, 1]);
  // Weights 1 and 1/sqrt(3): mean (1 + sqrt(3)) / 4.
  const { positive, negative } = classCoefficients(counts, labels(1, 3), "sqrt_inverse", "average");
  assert.ok(Math.abs(positive - 4 / (1 + Math.sqrt(3))) < 1e-12);
  assert.ok(Math.abs(negative - 4 / (Math.sqrt(3) + 3)) < 1e-12);
  assert.deepEqual(classCoefficients(counts, labels(1, 1), "none", "average").perSample, [1, 1]);
});

/** P(k) of k successes among n, for k = 0 … n. */
function binomial(n: number, p: number): number[] {
  const row = [(1 - p) ** n];
  for (let k = 1; k <= n; k++) row.push(row[k - 1] * ((n - k + 1) / k) * (p / (1 - p)));
  return row;
}

/**
 * The pull of GRPO on the logit of CORRECT of a verifier that says CORRECT by the flip of a coin: a group's
 * advantages times what they push, (1/m) sum A_i (x_i - 1/2) = (1 - 1/m) s with the sample deviation s of its m
 * verdicts, upwards where the solution is right.
 */
function pullOfGroup(m: number): number {
  return binomial(m, 1 / 2).reduce(
    (sum, share, k) => sum + share * (1 - 1 / m) * Math.sqrt(k * (m - k) / m / (m - 1)),
    0,
  );
}

/**
 * The mean weight of right solutions less that of wrong ones, by batch: expected over batches of `size` solutions,
 * each right with probability p, where the moving averages are in their steady state. That state's distribution is
 * iterated on a grid of right ones from 0 to `size`; what falls between two points is shared among them.
 */
function expectedDifference(
  size: number,
  p: number,
  weigh: (counts: { positive: number; negative: number }, batch: boolean[]) => number[],
): number {
  const points = 400, decay = 0.8;
  const batches = binomial(size, p);
  const likely = [...batches.keys()].filter((k) => batches[k] > 1e-9);
  const place = (positive: number) => positive / size * points;
  let averages = new Float64Array(points + 1);
  averages[Math.round(place(size * p))] = 1;
  for (let step = 0; step < 60; step++) {
    const next = new Float64Array(points + 1);
    for (const [point, mass] of averages.entries()) {
      if (mass < 1e-12) continue;
      for (const k of likely) {
        const at = Math.min(points, decay * point + (1 - decay) * place(k));
        const below = Math.min(points - 1, Math.floor(at));
        next[below] += mass * batches[k] * (below + 1 - at);
        next[below + 1] += mass * batches[k] * (at - below);
      }
    }
    averages = next;
  }
  let expected = 0;
  for (const [point, mass] of averages.entries()) {
    if (mass < 1e-9) continue;
    const before = { positive: point / points * size, negative: size - point / points * size };
    for (const k of likely) {
      const batch = labels(k, size - k);
      const perSample = weigh(updateClassCounts(before, batch, decay), batch);
      const signed = perSample.map((weight, i) => batch[i] ? weight : -weight);
      expected += mass * batches[k] * signed.reduce((sum, one) => sum + one, 0) / size;
    }
  }
  return expected;
}

Deno.test("the pull on a verifier that cannot tell, at 9.4 % right solutions", () => {
  const schemes = [
    ["none", "batch"],
    ["sqrt_inverse", "batch"],
    ["inverse", "batch"],
    ["inverse", "average"],
  ] as const;
  // Solutions in a batch, critiques of each; a simulation's figures, itself good to 0.001 or 0.002.
  const simulated = [
    [4, 4, -0.284, -0.233, -0.183, -0.04],
    [32, 8, -0.352, -0.232, -0.033, -0.006],
    [256, 5, -0.314, -0.2, -0.004, -0.001],
  ];
  for (const [size, m, ...pulls] of simulated) {
    schemes.forEach(([method, scale], s) => {
      const difference = expectedDifference(
        size,
        0.094,
        (counts, batch) => classCoefficients(counts, batch, method, scale).perSample,
      );
      const pull = difference * pullOfGroup(m);
      const found = `${size} by ${m}, ${method} by ${scale}: ${pull.toFixed(4)}`;
      assert.ok(Math.abs(pull - pulls[s]) < 0.0025, `${found} is not ${pulls[s]}`);
    });
  }
});
