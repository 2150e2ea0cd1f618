import assert from "node:assert/strict";
import fc from "fast-check";
import { WholeGradients } from "../../../src/engine/training/whole_gradients.ts";
import { END } from "../../../src/model/decoder/gradient_order.ts";
import type { Slice } from "../../../src/model/decoder/slices.ts";

Deno.test("property: whoever is whole when, the pass and the taker come to the end", async () => {
  const slices = fc.array(
    fc.record({ owner: fc.nat({ max: 2 }), layer: fc.integer({ min: END, max: 6 }) }),
    { maxLength: 20 },
  );
  await fc.assert(
    fc.asyncProperty(slices, async (drawn) => {
      const at = new Map(drawn.map(({ owner, layer }, i): [Slice, number] => [
        { tensor: 0, first: i, end: i + 1, owner },
        layer,
      ]));
      const whole = new WholeGradients(at, 3);
      const finished: Slice[] = [];
      let recorded = 6, mostAhead = 0;
      const pass = async () => {
        whole.begin([], (slice) => finished.push(slice));
        for (let layer = 5; layer >= 0; layer--) {
          recorded = layer;
          await whole.passed(layer);
        }
        recorded = END;
        await whole.end();
      };
      const take = async () => {
        await whole.begun;
        for (const round of whole.rounds) {
          await whole.whenWhole(round);
          const layers = round.flatMap((slice) => slice ? [at.get(slice) ?? END] : []);
          assert.ok(layers.every((layer) => layer >= recorded), "not yet whole");
          await new Promise((resolve) => setTimeout(resolve, 0));
          mostAhead = Math.max(mostAhead, Math.min(...layers) - recorded);
          whole.taken(round);
        }
      };
      await Promise.all([pass(), take()]);
      assert.deepEqual(new Set(finished), new Set(at.keys()));
      assert.equal(finished.length, at.size);
      // It has recorded the layer of which it then waits.
      assert.ok(mostAhead <= 3, `${mostAhead}`);
    }),
    { numRuns: 60 },
  );
});

Deno.test("a pass that fails lets nobody wait, and one that others failed goes no further", async () => {
  const slice = { tensor: 0, first: 0, end: 4, owner: 0 };
  const whole = new WholeGradients(new Map([[slice, 4]]), 2);
  whole.begin([], () => {});
  const waiting = whole.whenWhole(whole.rounds[0]);
  whole.fail(new Error("the GPU had a bad day"));
  await assert.rejects(waiting, /a bad day/);
  await assert.rejects(whole.passed(0), /a bad day/);
});
