import assert from "node:assert/strict";
import fc from "fast-check";
import { type PlacedRun, placeRun } from "../../../src/server/launches/place_run.ts";

const GB = 1e9;
const plan = { bytes: 30 * GB, limitBytes: 80 * GB, gpus: [0, 1] };
const one = { ranks: 1, gpuIndex: null, plan };
const on = (bytes: number | null, ...gpus: number[]): PlacedRun => ({
  ranks: Math.max(1, gpus.length),
  gpus,
  bytes,
});

Deno.test("a run is given the first GPU with room, and waits where none has any", () => {
  assert.deepEqual(placeRun(one, []), [0]);
  assert.deepEqual(placeRun(one, [on(50 * GB, 0)]), [0]);
  assert.deepEqual(placeRun(one, [on(51 * GB, 0)]), [1]);
  assert.equal(placeRun(one, [on(51 * GB, 0), on(51 * GB, 1)]), null);
  assert.deepEqual(placeRun({ ...one, gpuIndex: 1 }, []), [1]);
  assert.equal(placeRun({ ...one, gpuIndex: 0 }, [on(51 * GB, 0)]), null);
});

Deno.test("each rank takes its part of the GPU it is on", () => {
  assert.deepEqual(placeRun({ ...one, ranks: 4 }, []), [0, 1, 0, 1]);
  assert.deepEqual(placeRun({ ...one, ranks: 4 }, [on(20 * GB, 1)]), [0, 1, 0, 1]);
  assert.equal(placeRun({ ...one, ranks: 4 }, [on(21 * GB, 1)]), null);
  assert.equal(placeRun({ ...one, ranks: 4 }, [on(11 * GB, 1, 1)]), null);
});

Deno.test("a run whose GPU nobody knows may be on any", () => {
  assert.deepEqual(placeRun(one, [on(50 * GB)]), [0]);
  assert.equal(placeRun(one, [on(51 * GB)]), null);
  const unlisted = { ...one, plan: { ...plan, gpus: [] } };
  assert.deepEqual(placeRun(unlisted, []), []);
  assert.deepEqual(placeRun(unlisted, [on(50 * GB, 1)]), []);
  assert.equal(placeRun(unlisted, [on(51 * GB, 1)]), null);
});

Deno.test("what cannot be planned, or is beside what cannot, waits until it is alone", () => {
  const unknown = { ...one, plan: null };
  assert.deepEqual(placeRun(unknown, []), []);
  assert.equal(placeRun(unknown, [on(1)]), null);
  assert.equal(placeRun(one, [on(null)]), null);
  assert.deepEqual(placeRun(one, [on(null, 0)]), [1]);
  const untold = { ...one, plan: { ...plan, limitBytes: null } };
  assert.deepEqual(placeRun(untold, [on(1, 0)]), [1]);
  assert.equal(placeRun(untold, [on(1)]), null);
});

Deno.test("no GPU is ever given more than it has, unless to one run alone", () => {
  const request = fc.record({
    ranks: fc.integer({ min: 1, max: 6 }),
    bytes: fc.integer({ min: 1, max: 100 }),
    index: fc.option(fc.integer({ min: 0, max: 3 })),
  });
  fc.assert(fc.property(fc.array(request, { maxLength: 12 }), (requests) => {
    const placed: PlacedRun[] = [];
    for (const { ranks, bytes, index } of requests) {
      const gpuIndex = ranks === 1 ? index : null;
      const plan = { bytes, limitBytes: 80, gpus: [0, 1, 2, 3] };
      const gpus = placeRun({ ranks, gpuIndex, plan }, placed);
      if (gpus !== null) placed.push({ ranks, gpus, bytes });
    }
    for (const gpu of [0, 1, 2, 3]) {
      const taken = placed.map(({ gpus, bytes = 0 }) =>
        gpus.filter((one) => one === gpu).length * (bytes ?? 0)
      ).filter((bytes) => bytes > 0);
      const all = taken.reduce((sum, bytes) => sum + bytes, 0);
      assert.ok(taken.length <= 1 || all <= 80, `GPU ${gpu} is given ${taken.join(" + ")}`);
    }
  }));
});
