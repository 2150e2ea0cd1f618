import assert from "node:assert/strict";
import fc from "fast-check";
import {
  clippedSurrogate,
  clippedWeight,
  importanceSampling,
  klEstimate,
} from "./policy_loss_reference.ts";

const close = (actual: number, expected: number, bound = 1e-12) =>
  assert.ok(Math.abs(actual - expected) <= bound, `${actual} is not ${expected}`);

/** Central difference; its own error is about h^2 = 1e-10 times the third derivative. */
const derivative = (value: (x: number) => number, x: number, h = 1e-5) =>
  (value(x + h) - value(x - h)) / (2 * h);

Deno.test("KL estimators by hand", () => {
  const half = Math.log(0.5), quarter = Math.log(0.25);
  close(klEstimate(half, quarter, "k2").value, Math.log(2) ** 2 / 2);
  close(klEstimate(half, quarter, "k3").value, 0.5 + Math.log(2) - 1);
  close(klEstimate(half, quarter, "k3").gradient, 0.5);
});

Deno.test("property: k2 and k3 are never negative, and gradients are derivatives", () => {
  const logProb = fc.double({ min: -4, max: 0, noNaN: true });
  fc.assert(fc.property(logProb, logProb, (policy, reference) => {
    for (const estimator of ["k2", "k3"] as const) {
      const { value, gradient } = klEstimate(policy, reference, estimator);
      assert.ok(value >= 0);
      const numeric = derivative((x) => klEstimate(x, reference, estimator).value, policy);
      close(gradient, numeric, 1e-7 * Math.max(1, Math.abs(gradient)));
    }
  }));
});

Deno.test("k3 is constant where a log-prob is more than 10 nats below the reference's", () => {
  assert.deepEqual(klEstimate(-30, 0, "k3"), { value: Math.expm1(10) - 10, gradient: 0 });
  // Above the reference, the estimate grows no faster than the distance.
  close(klEstimate(0, -30, "k3").value, 29);
  close(klEstimate(0, -30, "k3").gradient, 1);
  assert.ok(klEstimate(-9.9, 0, "k3").gradient < -19900);
});

Deno.test("the clipped surrogate by hand", () => {
  const at = (ratio: number, advantage: number) =>
    clippedSurrogate({
      logProb: Math.log(ratio),
      oldLogProb: 0,
      advantage,
    }, { clipRatioLow: 0.2, clipRatioHigh: 0.3 });
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

Deno.test("property: a surrogate's gradient is its derivative away from the corners", () => {
  const inputs = fc.tuple(
    fc.double({ min: -1, max: 1, noNaN: true }),
    fc.double({ min: -3, max: 3, noNaN: true }),
  ).filter(([difference]) =>
    [Math.log(0.8), Math.log(1.2)].every((corner) => Math.abs(difference - corner) > 1e-4)
  );
  fc.assert(fc.property(inputs, ([difference, advantage]) => {
    const range = { clipRatioLow: 0.2, clipRatioHigh: 0.2 };
    const at = (logProb: number) => ({ oldLogProb: -1, advantage, logProb });
    const x = difference - 1;
    const clipped = (x: number) => clippedSurrogate(at(x), range);
    close(clipped(x).gradient, derivative((x) => clipped(x).value, x), 1e-7);
    const plain = (x: number) => importanceSampling(at(x));
    close(plain(x).gradient, derivative((x) => plain(x).value, x), 1e-7);
    // The weight is a constant: the gradient is that of weight · logProb.
    const { gradient, value, ratio } = clippedWeight(at(x), range);
    close(gradient, -advantage * Math.min(Math.max(ratio, 0.8), 1.2));
    close(value, gradient * x);
  }));
});
