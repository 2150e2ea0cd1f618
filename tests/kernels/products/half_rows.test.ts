import assert from "node:assert/strict";
import { fromStorage } from "../../../src/model/decoder/half_precision.ts";
import { halfRows, roomForHalfRows } from "../../../src/kernels/products/half_rows.ts";
import { rmsnormForward } from "../../../src/kernels/layers/rmsnorm.ts";
import { randomFloats } from "../harness.ts";
import { onMatrixUnits } from "../on_matrix_units.ts";

onMatrixUnits(
  "a row's scale is the power of two that brings its largest element to 2^14 or up to twice that",
  ["f16", "f16-pair"],
  async (gpu) => {
    // Of 300 elements 270 count, more than one vector for each lane; what lies beside them is larger.
    const [first, columns, stride] = [12, 270, 300];
    const counted = first + columns;
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
    const { halves, scales } = halfRows(gpu, a, { rows: rows.length, first, columns });
    const expected = rows.map((numbers) => {
      const largest = Math.max(...numbers.subarray(first, counted).map(Math.abs));
      if (!(largest > 0 && largest < Infinity)) return 1;
      // 2^127 is the largest power that f32 has.
      return 2 ** Math.min(127, 14 - Math.floor(Math.log2(largest)));
    });
    assert.deepEqual([...await gpu.readFloats(scales)], expected);
    const found = fromStorage(await gpu.read(halves), "f16");
    // 270 terms, in slabs of 32.
    const terms = 288, parts = gpu.precision === "f16-pair" ? 2 : 1;
    assert.deepEqual(halves.shape, [16, terms * parts]);
    rows.slice(0, -2).forEach((numbers, i) => {
      for (let term = 0; term < terms; term++) {
        const from = i * terms * parts + term;
        const value = found[from] + (parts === 2 ? found[from + terms] / 1024 : 0);
        const scaled = term < counted - first ? numbers[first + term] * expected[i] : 0;
        // Either rounding of 11 bits, or of 11 below the first 11; f16's smallest step is 2^-24. Numbers below f32's
        // normal ones may count as 0.
        const bound = Math.abs(scaled) * 2 ** (parts === 2 ? -21 : -10) + 2 ** -24;
        if (Math.abs(numbers[first + term]) < 2 ** -126) continue;
        assert.ok(Math.abs(value - scaled) <= bound, `row ${i}, term ${term}: ${value}, ${scaled}`);
      }
    });
    gpu.release(a, halves, scales);
  },
);

onMatrixUnits(
  "matrix units: a norm writes the half rows of what it makes as their own launch does",
  ["f16", "f16-pair"],
  async (gpu) => {
    for (const lanes of [1, 64] as const) {
      for (const [rows, columns] of [[130, 100], [137, 256]]) {
        for (const [fromOne, hasResidual] of [[false, true], [true, false], [false, false]]) {
          using steps = gpu.steps();
          const made = steps.run(() => {
            const x = gpu.from(randomFloats(rows * columns, 1), [rows, columns]);
            // Rows of very different sizes.
            const residual = gpu.from(
              randomFloats(rows * columns, 2).map((value, i) =>
                value * 2 ** (Math.floor(i / columns) % 29)
              ),
              [rows, columns],
            );
            const weight = gpu.from(randomFloats(columns, 3), [columns]);
            const y = gpu.tensor([rows, columns]), rstd = gpu.tensor([rows]);
            const own = roomForHalfRows(gpu, y.shape);
            assert.ok(own);
            rmsnormForward(gpu, x, weight, y, rstd, 1e-6, {
              ...{ lanes, fromOne, halfRows: own },
              ...(hasResidual && { residual }),
            });
            const other = halfRows(gpu, y, { rows, first: 0, columns });
            return [own.scales, other.scales, own.halves, other.halves];
          });
          const [scales, otherScales, halves, otherHalves] = await gpu.readAll(made);
          assert.deepEqual(scales, otherScales);
          // Rows that only fill the last matrix up hold anything.
          const count = halves.length / Math.ceil(rows / 8) / 8 * rows;
          assert.deepEqual(halves.subarray(0, count), otherHalves.subarray(0, count));
        }
      }
    }
  },
);
