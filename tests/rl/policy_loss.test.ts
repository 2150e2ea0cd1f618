import assert from "node:assert/strict";
import fc from "fast-check";
import { klEstimate } from "../../src/rl/kl.ts";
import { clippedSurrogate } from "../../src/rl/policy_loss.ts";

const close = (actual: number, expected: number, bound = 1e-12) =>
  assert.ok(Math.abs(actual - expected) <= bound, `${actual} is not ${expected}`);

/** Central difference; its own error is about h^2 = 1e-10 times the third derivative. */
const derivative = (value: (x: number) => number, x: number, h = 1e-5) =>
  (value(x + h) - value(x - h)) / (2 * h);

Deno.test("KL estimators by hand", () => {
  const half = Math.log(0.5), quarter = Math.log(0.25);
  close(klEstimate(half, quarter, "k1").value, Math.log(2));
  close(klEstimate(half, quarter, "k2").value, Math.log(2) ** 2 / 2);
  close(klEstimate(half, quarter, "k3").value, 0.5 + Math.log(2) - 1);
  close(klEstimate(half, quarter, "k3").gradient, 0.5);
});

Deno.test("property: k2 and k3 are never negative, and gradients are derivatives", () => {
  const logProb = fc.double({ min: -4, max: 0, noNaN: true });
  fc.assert(fc.property(logProb, logProb, (policy, reference) => {
    for (const estimator of ["k1", "k2", "k3"] as const) {
      const { value, gradient } = klEstimate(policy, reference, estimator);
      if (estimator !== "k1") assert.ok(value >= 0);
      const numeric = derivative((x) => klEstimate(x, reference, estimator).value, policy);
      close(gradient, numeric, 1e-7 * Math.max(1, Math.abs(gradient)));
    }
  }));
});

Deno.test("the clipped surrogate by hand", () => {
  const at = (ratio: number, advantage: number) =>
    clippedSurrogate({
      logProb: Math.log(ratio),
      oldLogProb: 0,
      advantage,
      clipLow: 0.2,
      clipHigh: 0.3,
    });
  close(at(1, 2).value, -2);
  close(at(1, 2).gradient, -2);
  close(at(1.5, 2).value, -2.6);
  assert.deepEqual([at(1.5, 2).clipped, at(1.5, 2).gradient], [true, 0]);
  close(at(0.5, -2).value, 1.6);
  assert.deepEqual([at(0.5, -2).clipped, at(0.5, -2).gradient], [true, 0]);
  // On the side where clipping would hide a worse policy the ratio counts in full.
  close(at(1.5, -2).value, 3);
  close(at(1.5, -2).gradient, 3);
  close(at(0.5, 2).value, -1);
  close(at(0.5, 2).gradient, -1);
});

Deno.test("property: the surrogate's gradient is its derivative away from the corners", () => {
  const inputs = fc.tuple(
    fc.double({ min: -1, max: 1, noNaN: true }),
    fc.double({ min: -3, max: 3, noNaN: true }),
  ).filter(([difference]) =>
    [Math.log(0.8), Math.log(1.2)].every((corner) => Math.abs(difference - corner) > 1e-4)
  );
  fc.assert(fc.property(inputs, ([difference, advantage]) => {
    const token = { oldLogProb: -1, advantage, clipLow: 0.2, clipHigh: 0.2 };
    const value = (x: number) => clippedSurrogate({ ...token, logProb: x }).value;
    const { gradient } = clippedSurrogate({ ...token, logProb: difference - 1 });
    close(gradient, derivative(value, difference - 1), 1e-7);
  }));
});
