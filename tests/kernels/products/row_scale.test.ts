import assert from "node:assert/strict";
import { rowScale } from "../../../src/kernels/products/row_scale.ts";
import { onEveryGpu, randomFloats } from "../harness.ts";

onEveryGpu(
  "a row's scale is the power of two that brings its largest element to 2^14 or up to twice that",
  async (gpu) => {
    // Of 300 elements 272 count, more than one vector for each lane; what lies beside them is larger.
    const [first, columns, stride] = [12, 270, 300];
    const counted = first + Math.ceil(columns / 4) * 4;
    const row = (largest: number, at: number) => {
      const numbers = randomFloats(stride, at, Math.min(1, Math.abs(largest) / 2));
      numbers.fill(1e30, 0, first).fill(1e30, counted);
      numbers[first + at] = largest;
      return numbers;
    };
    const zeros = row(0, 1).fill(0, first, counted);
    const rows = [
      ...[1, 1.9999999, -2, 3e5, 1e-9, 2 ** -120, 2 ** -140, 3e38].map((largest, i) =>
        row(largest, [0, 1, 2, 3, 130, 255, 256, 269][i])
      ),
      zeros,
      row(Infinity, 7),
      row(NaN, 200),
    ];
    const data = new Float32Array(rows.length * stride);
    rows.forEach((numbers, i) => data.set(numbers, i * stride));
    const a = gpu.from(data, [rows.length, stride]);
    const scales = gpu.tensor([rows.length]);
    rowScale(gpu, a, scales, { first, columns });
    const expected = rows.map((numbers) => {
      const largest = Math.max(...numbers.subarray(first, counted).map(Math.abs));
      if (!(largest > 0 && largest < Infinity)) return 1;
      // 2^127 is the largest power that f32 has.
      return 2 ** Math.min(127, 14 - Math.floor(Math.log2(largest)));
    });
    assert.deepEqual([...await gpu.readFloats(scales)], expected);
    gpu.release(a, scales);
  },
);
