import assert from "node:assert/strict";
import { gatherRows, scatterRows } from "../../../src/kernels/layers/gather_rows.ts";
import { onEveryGpu, randomFloats } from "../harness.ts";

for (const [count, width] of [[1, 4], [257, 68]]) {
  onEveryGpu(`gathering and scattering ${count} rows of ${width}`, async (gpu) => {
    const total = 300;
    const data = randomFloats(total * width, 1);
    // 7 and 300 have no common factor, so the rows differ; the last is beyond the end.
    const rows = Uint32Array.from({ length: count }, (_, i) => (i * 7 + 5) % total);
    if (count > 1) rows[count - 1] = 0xffffffff;
    const source = gpu.from(data, [total, width]);
    const rowTensor = gpu.from(rows, [count]);
    const gathered = gpu.tensor([count, width]);
    gatherRows(gpu, source, rowTensor, gathered);
    const target = gpu.from(new Float32Array(total * width).fill(-1), [total, width]);
    scatterRows(gpu, gathered, rowTensor, target);
    const [there, back] = await gpu.readAll([gathered, target]);
    const expected = new Float32Array(count * width);
    const expectedBack = new Float32Array(total * width).fill(-1);
    rows.forEach((row, i) => {
      if (row >= total) return;
      const values = data.subarray(row * width, (row + 1) * width);
      expected.set(values, i * width);
      expectedBack.set(values, row * width);
    });
    assert.deepEqual(there, expected);
    assert.deepEqual(back, expectedBack);
    gpu.release(source, rowTensor, gathered, target);
  });
}

onEveryGpu("gathering from f16 and bf16", async (gpu) => {
  const rows = gpu.from(Uint32Array.of(1, 0), [2]);
  const gathered = gpu.tensor([2, 4]);
  // 1, -2, 0.5, 0 and 3, 1.5, -0.25, 65504 (f16) or 3, 1.5, -0.25, 128 (bf16)
  const halves = [0x3c00, 0xc000, 0x3800, 0, 0x4200, 0x3e00, 0xb400, 0x7bff];
  const brains = [0x3f80, 0xc000, 0x3f00, 0, 0x4040, 0x3fc0, 0xbe80, 0x4300];
  for (const [dtype, bits, last] of [["f16", halves, 65504], ["bf16", brains, 128]] as const) {
    const source = gpu.from(Uint16Array.from(bits), [2, 4], dtype);
    gatherRows(gpu, source, rows, gathered);
    const read = await gpu.readFloats(gathered);
    assert.deepEqual([...read], [3, 1.5, -0.25, last, 1, -2, 0.5, 0]);
    gpu.release(source);
  }
  gpu.release(rows, gathered);
});
