import assert from "node:assert/strict";
import { likeliestTokens } from "../../../src/kernels/sampling/likeliest.ts";
import { rowScales } from "../../../src/kernels/losses/log_softmax.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";

const places = 7;

for (const [rows, columns] of [[1, 9], [19, 131], [9, 5000]]) {
  onEveryGpu(`the likeliest of ${columns} tokens in ${rows} rows`, async (gpu) => {
    const stride = Math.ceil(columns / 4) * 4 + 4;
    // Steps of a quarter make ties, also of -0 with 0.
    const data = randomFloats(rows * columns, columns, 4).map((x) => Math.round(x * 4) / 4);
    const padded = new Float32Array(rows * stride).fill(1e30);
    for (let r = 0; r < rows; r++) {
      padded.set(data.subarray(r * columns, (r + 1) * columns), r * stride);
    }
    const scales = Float32Array.from({ length: rows }, (_, r) => 1 / (0.5 + r % 3));
    const counts = Uint32Array.from(
      { length: rows },
      (_, r) => rows === 1 ? places : r % (places + 1),
    );
    const sums = Float32Array.from(scales, (scale, r) => {
      const row = data.subarray(r * columns, (r + 1) * columns);
      return Math.log(row.reduce((sum, x) => sum + Math.exp(x * scale), 0));
    });
    const inputs = {
      logits: gpu.from(padded, [rows, stride]),
      logSumExp: gpu.from(sums, [rows]),
      scales: gpu.from(rowScales(scales), [rows, 2]),
      counts: gpu.from(counts, [rows]),
    };
    for (const lanes of [1, 128] as const) {
      const firstRow = 3;
      const output = gpu.zeros([firstRow + rows, places, 2], "u32");
      likeliestTokens(gpu, inputs, output, { columns, firstRow, lanes });
      const words = await gpu.read(output) as Uint32Array<ArrayBuffer>;
      const floats = new Float32Array(words.buffer);
      assert.ok(words.subarray(0, firstRow * places * 2).every((word) => word === 0));
      for (let r = 0; r < rows; r++) {
        const row = data.subarray(r * columns, (r + 1) * columns);
        const order = [...row.keys()].sort((a, b) => row[b] - row[a] || a - b).slice(0, counts[r]);
        const at = (firstRow + r) * places;
        const found = order.map((_, i) => words[2 * (at + i)]);
        assert.deepEqual(found, order, `row ${r}, lanes ${lanes}`);
        assertClose(
          order.map((_, i) => floats[2 * (at + i) + 1]),
          order.map((token) => row[token] * scales[r] - sums[r]),
          { absolute: 0, relative: 1e-6, why: "one rounding of numbers below 20" },
        );
        for (let i = counts[r]; i < places; i++) assert.equal(words[2 * (at + i)], 0);
      }
      gpu.release(output);
    }
    gpu.release(...Object.values(inputs));
  });
}
