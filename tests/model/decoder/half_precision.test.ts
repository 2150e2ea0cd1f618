import assert from "node:assert/strict";
import {
  bfloat16ToFloat32 as fromBfloat16,
  float32ToBfloat16,
  float32ToFloat16,
} from "../../../src/model/decoder/half_precision.ts";

Deno.test("half precision: f16 and bf16 round to nearest even and keep what they can hold", () => {
  // 1 + 2^-11 lies midway between two f16 numbers, 1 + 2^-8 between two bf16 numbers.
  const midway = Float32Array.of(1 + 2 ** -11, 1 + 3 * 2 ** -11);
  const halves = new Float16Array(float32ToFloat16(midway).buffer);
  assert.deepEqual([...halves], [1, 1 + 2 ** -9]);
  const brainMidway = Float32Array.of(1 + 2 ** -8, 1 + 3 * 2 ** -8);
  assert.deepEqual([...fromBfloat16(float32ToBfloat16(brainMidway))], [1, 1 + 2 ** -6]);
  const special = Float32Array.of(NaN, Infinity, -Infinity, -0);
  assert.deepEqual(fromBfloat16(float32ToBfloat16(special)), special);
  const patterns = Uint16Array.from({ length: 65536 }, (_, i) => i);
  const back = float32ToBfloat16(fromBfloat16(patterns));
  patterns.forEach((bits, i) => {
    if ((bits & 0x7fff) <= 0x7f80) assert.equal(back[i], bits);
  });
});
