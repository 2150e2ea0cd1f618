import assert from "node:assert/strict";
import { UserError } from "../../../src/base/user_error.ts";
import {
  embeddingBackward,
  embeddingForward,
  embeddingPlan,
} from "../../../src/kernels/layers/embedding.ts";
import { onEveryGpu, randomFloats } from "../harness.ts";

const width = 68;

for (const [count, vocabularySize] of [[1, 131], [257, 131], [257, 5000]]) {
  onEveryGpu(`embedding of ${count} tokens of ${vocabularySize}`, async (gpu) => {
    // Few distinct tokens, so that many positions share one.
    const ids = Uint32Array.from({ length: count }, (_, t) => (t * t * 31) % vocabularySize % 61);
    const weights = randomFloats(vocabularySize * width, 1);
    const start = randomFloats(vocabularySize * width, 2);
    const gradients = randomFloats(count * width, 3);
    const weight = gpu.from(weights, [vocabularySize, width]);
    const tokens = gpu.from(ids, [count]);
    const output = gpu.tensor([count, width]);
    embeddingForward(gpu, [{ firstRow: 0, rows: weight }], tokens, output);
    const forward = await gpu.readFloats(output);
    const expected = start.slice();
    ids.forEach((id, t) => {
      const row = forward.subarray(t * width, (t + 1) * width);
      assert.deepEqual(row, weights.subarray(id * width, (id + 1) * width));
      // Positions in ascending order in f32: the sums have these very bits.
      for (let j = 0; j < width; j++) expected[id * width + j] += gradients[t * width + j];
    });
    const cuts = [[count], [Math.ceil(count / 3), count]];
    for (const ends of cuts) {
      const gradient = gpu.from(start, [vocabularySize, width]);
      let from = 0;
      for (const end of new Set(ends)) {
        const plan = embeddingPlan(gpu, ids.subarray(from, end), vocabularySize);
        const part = gpu.from(gradients.subarray(from * width, end * width), [end - from, width]);
        embeddingBackward(gpu, part, plan, [{ firstRow: 0, rows: gradient }]);
        gpu.release(plan.positions, plan.tokens, plan.starts, part);
        from = end;
      }
      assert.deepEqual(await gpu.readFloats(gradient), expected);
      gpu.release(gradient);
    }
    gpu.release(weight, tokens, output);
  });
}

onEveryGpu("tokens beyond the vocabulary are refused", async (gpu) => {
  assert.throws(() => embeddingPlan(gpu, Uint32Array.of(3, 9), 9), UserError);
  const plan = embeddingPlan(gpu, Uint32Array.of(3, 9));
  const tensors = [gpu.tensor([2, 4]), gpu.tensor([9, 4])];
  assert.throws(
    () => embeddingBackward(gpu, tensors[0], plan, [{ firstRow: 0, rows: tensors[1] }]),
    UserError,
  );
  await gpu.finish();
  gpu.release(plan.positions, plan.tokens, plan.starts, ...tensors);
});
