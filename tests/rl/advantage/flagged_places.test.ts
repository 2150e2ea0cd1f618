import assert from "node:assert/strict";
import {
  type FlaggedSolution,
  locatedAlpha,
  placeQuality,
  updateFlaggedPlaces,
} from "../../../src/rl/advantage/flagged_places.ts";

const near = (found: number | null, expected: number) => {
  assert.ok(found !== null && Math.abs(found - expected) < 1e-12, `${found}, not ${expected}`);
};

/** Goes wrong at its third of four steps, and by luck comes right again in a tenth of the ways on. */
const values = [0.3, 0.4, 0.5, 0.1, 0];

const measured = (...solutions: FlaggedSolution[]) => updateFlaggedPlaces(null, solutions);

Deno.test("flagged places: by hand, of flags at the right step, at others and at none", () => {
  // Steps have 0.3, 0.4, 0.5, 0.1 before them and lose -0.1, -0.1, 0.4, 0.1: a = 0.3 / 1.3.
  const any = 0.3 / 1.3;
  const by = (lostShare: number) => (lostShare - any) / (1 - any);
  const qualityAt = (flagged: number | null) => placeQuality(measured({ values, flagged }));
  near(qualityAt(2), by(0.4 / 0.5));
  near(qualityAt(0), by(-0.1 / 0.3));
  near(qualityAt(3), by(1));
  near(qualityAt(null), by(0));
  // The last step loses what luck had left, which is little: it hardly counts beside a flag that is early.
  const both = placeQuality(measured({ values, flagged: 3 }, { values, flagged: 0 }));
  near(both, by((0.1 - 0.1) / (0.1 + 0.3)));
});

Deno.test("flagged places: flags at every step alike are worth nothing", () => {
  const everywhere = [0, 1, 2, 3].map((flagged) => ({ values, flagged }));
  near(placeQuality(measured(...everywhere)), 0);
  assert.ok(Math.abs(locatedAlpha(1, measured(...everywhere))) < 1e-12);
});

Deno.test("flagged places: what is not known is left out", () => {
  const unknown = [null, ...values.slice(1)];
  assert.deepEqual(
    measured({ values: unknown, flagged: 0 }, { values, flagged: 2 }),
    measured({ values, flagged: 2 }),
  );
  // Steps after the first are known.
  const { before, lost, anyBefore, anyLost } = measured({ values: unknown, flagged: 2 });
  near(before, 0.5);
  near(lost, 0.4);
  near(anyBefore, 1 / 3);
  near(anyLost, 0.4 / 3);
  for (const nothing of [[], [{ values: [0.3], flagged: null }], [{ values: [], flagged: null }]]) {
    assert.equal(placeQuality(measured(...nothing)), null);
    assert.equal(locatedAlpha(1, measured(...nothing)), 0);
  }
  assert.equal(locatedAlpha(1, null), 0);
  // Nothing could be made of the solutions from the first on: no step loses anything.
  assert.equal(placeQuality(measured({ values: [0, 0, 0], flagged: 0 })), null);
});

Deno.test("flagged places: sums move, and α is at most what it may be", () => {
  const first = measured({ values, flagged: 2 });
  const moved = updateFlaggedPlaces(first, [{ values, flagged: 0 }]);
  near(moved.before, 0.6 * 0.5 + 0.4 * 0.3);
  near(moved.lost, 0.6 * 0.4 - 0.4 * 0.1);
  near(moved.anyBefore, first.anyBefore);
  near(moved.anyLost, first.anyLost);
  near(locatedAlpha(0.5, first), 0.5 * (0.8 - 0.3 / 1.3) / (1 - 0.3 / 1.3));
  assert.equal(locatedAlpha(0.5, measured({ values, flagged: 0 })), 0);
  near(locatedAlpha(0.5, measured({ values, flagged: 3 })), 0.5);
});
