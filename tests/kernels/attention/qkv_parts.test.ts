import assert from "node:assert/strict";
import { joinQkv, splitQkv } from "../../../src/kernels/attention/qkv_parts.ts";
import { onEveryGpu, randomFloats } from "../harness.ts";

// A tenth of a second an engine.
onEveryGpu("qkv parts: queries and keys are taken out and put beside the values", async (gpu) => {
  for (const [tokens, Q, K] of [[1, 8, 4], [9, 56, 8], [3, 12, 12]]) {
    const W = Q + 2 * K;
    const data = randomFloats(tokens * W, 1), others = randomFloats(tokens * W, 2);
    using steps = gpu.steps();
    const [queries, keys, joined] = await gpu.readAll(steps.run(() => {
      const parts = { queries: gpu.tensor([tokens, Q]), keys: gpu.tensor([tokens, K]) };
      splitQkv(gpu, gpu.from(data, [tokens, W]), parts);
      const joined = gpu.tensor([tokens, W]);
      joinQkv(gpu, gpu.from(others, [tokens, W]), parts, joined);
      return [parts.queries, parts.keys, joined];
    }));
    const row = (all: Float32Array, t: number, from: number, to: number) => [
      ...all.subarray(t * W + from, t * W + to),
    ];
    const rows = Array.from({ length: tokens }, (_, t) => t);
    assert.deepEqual([...queries], rows.flatMap((t) => row(data, t, 0, Q)));
    assert.deepEqual([...keys], rows.flatMap((t) => row(data, t, Q, Q + K)));
    const expected = rows.flatMap((t) => [...row(data, t, 0, Q + K), ...row(others, t, Q + K, W)]);
    assert.deepEqual([...joined], expected);
  }
});
