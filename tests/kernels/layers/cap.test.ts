import assert from "node:assert/strict";
import { capInPlace } from "../../../src/kernels/layers/cap.ts";
import { onEveryGpu, randomFloats } from "../harness.ts";

for (const cap of [0.7, 30, 50]) {
  onEveryGpu(
    `numbers capped at ${cap}, near 0, on both sides of the kernel's seam and far out`,
    async (gpu) => {
      const seam = [0.624, 0.6249999, 0.625, 0.6250001, 0.626].map((x) => Math.fround(x * cap));
      const values = [
        ...[0, 1e-30, 1e-9, 1e-3, 0.1, ...seam, cap, 3 * cap, 9 * cap, 1e6, 3e38, Infinity],
        ...randomFloats(1000, 3, 4 * cap),
      ];
      const both = Float32Array.from([...values, ...values.map((value) => -value), NaN, 0]);
      // Of vectors that no workgroup's lanes divide.
      const size = Math.ceil(both.length / 4) * 4;
      const data = new Float32Array(size);
      data.set(both);
      const x = gpu.from(data, [size]);
      capInPlace(gpu, x, cap);
      const found = await gpu.readFloats(x);
      gpu.release(x);
      data.forEach((value, i) => {
        if (Number.isNaN(value)) return assert.ok(Number.isNaN(found[i]));
        const expected = cap * Math.tanh(value / cap);
        // The polynomial is right to 1e-7 of its value, and a division and exp2 to some units in the last place.
        const bound = 6e-7 * Math.abs(expected);
        assert.ok(
          Math.abs(found[i] - expected) <= bound,
          `${value}: ${found[i]}, expected ${expected}`,
        );
        assert.ok(Math.abs(found[i]) <= Math.fround(cap));
      });
    },
  );
}
