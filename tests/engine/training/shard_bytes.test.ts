/** With several shards, weights have the same bytes however batches are cut into passes. */

import assert from "node:assert/strict";
import { onEveryGpu } from "../../kernels/harness.ts";
import { kinds, tiedKind, trained } from "./small_training.ts";

for (const [name, kind] of Object.entries(kinds)) {
  onEveryGpu(`4 shards, ${name}: the cut into passes changes no byte in 8 steps`, async (gpu) => {
    const whole = await trained(gpu, kind, { microBatchTokens: 8192, shards: 4 });
    assert.ok(whole.weights.some((weight) => weight !== 0));
    for (const microBatchTokens of [30, 75]) {
      const cut = await trained(gpu, kind, { microBatchTokens, shards: 4 });
      assert.deepEqual(cut, whole, `${microBatchTokens}`);
    }
  });
}

onEveryGpu("shards change a gradient's last digits alone", async (gpu) => {
  const { weights: one } = await trained(gpu, tiedKind, { microBatchTokens: 8192, shards: 1 });
  const { weights: four } = await trained(gpu, tiedKind, { microBatchTokens: 8192, shards: 4 });
  assert.notDeepEqual(four, one);
  // AdamW moves a weight by up to the learning rate a step, most where gradients are least certain; 8 steps.
  const apart = four.map((weight, i) => Math.abs(weight - one[i]));
  assert.ok(apart.every((difference) => difference < 8e-3));
  const mean = apart.reduce((sum, difference) => sum + difference, 0) / apart.length;
  assert.ok(mean < 1e-5, `${mean}`);
});
