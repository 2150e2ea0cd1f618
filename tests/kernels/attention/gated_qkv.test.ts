import assert from "node:assert/strict";
import { qkvOfGated, qkvToGated } from "../../../src/kernels/attention/gated_qkv.ts";
import { onEveryGpu, randomFloats } from "../harness.ts";

// A tenth of a second an engine.
onEveryGpu(
  "gated qkv: heads are taken out from among their gates and put there again",
  async (gpu) => {
    for (const [tokens, heads, kvHeads, headDim] of [[1, 2, 1, 8], [9, 3, 3, 16], [3, 4, 2, 24]]) {
      const width = (2 * heads + 2 * kvHeads) * headDim, own = width - heads * headDim;
      const data = randomFloats(tokens * width, 1), others = randomFloats(tokens * own, 2);
      const shape = { heads, kvHeads, headDim };
      const source = (i: number) => {
        const column = i % own, queries = heads * headDim;
        const gates = Math.min(Math.floor(column / headDim), heads) * headDim;
        assert.ok(column < queries || gates === queries);
        return Math.floor(i / own) * width + column + gates;
      };
      using steps = gpu.steps();
      const [taken, put] = await gpu.readAll(steps.run(() => {
        const qkv = gpu.tensor([tokens, own]), projected = gpu.from(data, [tokens, width]);
        qkvOfGated(gpu, projected, shape, qkv);
        const target = gpu.from(data, [tokens, width]);
        qkvToGated(gpu, target, shape, gpu.from(others, [tokens, own]));
        return [qkv, target];
      }));
      assert.deepEqual(taken, Float32Array.from(others, (_, i) => data[source(i)]));
      const expected = data.slice();
      others.forEach((value, i) => expected[source(i)] = value);
      assert.deepEqual(put, expected);
    }
  },
);
