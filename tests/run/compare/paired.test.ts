import assert from "node:assert/strict";
import { bootstrapInterval, pairedDifference, tInterval } from "../../../src/run/compare/paired.ts";

const near = (found: readonly number[], expected: readonly number[], bound: number) =>
  found.forEach((value, i) =>
    assert.ok(Math.abs(value - expected[i]) <= bound, `${found} instead of ${expected}`)
  );

Deno.test("bootstrap: of three values the ends are those that a 27th of the resamples hold", () => {
  // A mean of 1 has one resample in 27 (3.7 %), more than the 2.5 % below the interval; so has a mean of 6.
  assert.deepEqual(bootstrapInterval([1, 2, 6]), [1, 6]);
  assert.deepEqual(bootstrapInterval([4, 4, 4]), [4, 4]);
});

Deno.test("bootstrap: as scipy.stats.bootstrap with a million resamples", () => {
  // method="percentile". Bounds: four deviations of scipy's own ends over 40 seeds of 10,000 resamples.
  const six = [0.031, -0.012, 0.045, 0.02, 0.008, 0.052];
  near(bootstrapInterval(six), [0.005833333333333336, 0.040833333333333326], 4 * 0.00035);
  const twelve = [3.1, -0.4, 2.2, 1.9, 0.3, 4.0, -1.2, 2.8, 1.1, 0.9, 3.3, 1.6];
  near(bootstrapInterval(twelve), [0.7666666666666667, 2.466666666666667], 4 * 0.0125);
});

Deno.test("bootstrap: the same values and seed give the same interval, another seed another", () => {
  const values = [0.3, 1.7, 2.9, 0.1, 4.4];
  const few = { resamples: 500, seed: 1 };
  assert.deepEqual(bootstrapInterval(values, few), bootstrapInterval(values, few));
  assert.notDeepEqual(
    bootstrapInterval(values, few),
    bootstrapInterval(values, { ...few, seed: 2 }),
  );
});

Deno.test("t interval: as scipy.stats.t.interval with scipy.stats.sem", () => {
  const six = [0.031, -0.012, 0.045, 0.02, 0.008, 0.052];
  near(tInterval(six), [-0.0010197429691466975, 0.04901974296914669], 1e-15);
  const twelve = [3.1, -0.4, 2.2, 1.9, 0.3, 4.0, -1.2, 2.8, 1.1, 0.9, 3.3, 1.6];
  near(tInterval(twelve), [0.6370404614690465, 2.6296262051976207], 1e-12);
});

Deno.test("paired difference: a single pair has a mean and no interval", () => {
  assert.deepEqual(pairedDifference([0.25]), { pairs: 1, mean: 0.25, bootstrap: null, t: null });
});
