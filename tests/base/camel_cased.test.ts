import assert from "node:assert/strict";
import { camelCased } from "../../src/base/camel_cased.ts";

Deno.test("camel case: keys at every depth, lists and values as they are", () => {
  const made = camelCased({
    group_size: 5,
    top_p: 0.9,
    advantage: { alpha: { decay_fraction: 1 }, process_weight: 2 },
    betas: [0.9, 0.95],
    lora: null,
  });
  assert.deepEqual(made, {
    groupSize: 5,
    topP: 0.9,
    advantage: { alpha: { decayFraction: 1 }, processWeight: 2 },
    betas: [0.9, 0.95],
    lora: null,
  });
  const depth: number = made.advantage.alpha.decayFraction;
  assert.equal(depth, 1);
});
