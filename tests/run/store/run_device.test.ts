import assert from "node:assert/strict";
import { describeDeviceChange, type RunDevice } from "../../../src/run/store/run_device.ts";

const before: RunDevice = {
  adapter: "Radeon",
  engine: "native",
  bits: "chain",
  cache: "f32",
  variants: { gemm: { "few rows": "tiled", "many rows": "tiled", "no rows": "none" } },
};

Deno.test("a run that goes on where it was has nothing to say", () => {
  assert.equal(describeDeviceChange(before, before), null);
  const known = { gemm: { ...before.variants.gemm, "some rows": "tiled" } };
  assert.equal(describeDeviceChange(before, { ...before, variants: known }), null);
  assert.equal(describeDeviceChange(before, { ...before, variants: {} }), null);
});

Deno.test("what changes is said in one message: what shows in bits, and what does not", () => {
  const variants = { gemm: { "few rows": "small", "many rows": "large" } };
  assert.equal(
    describeDeviceChange(before, {
      ...before,
      adapter: "Arc",
      engine: "dawn",
      bits: "mma",
      variants,
    }),
    "This run goes on with the device Arc instead of Radeon, the engine dawn instead of native, sums of class mma " +
      "instead of chain: the last bits of its numbers are others from here on; gemm of few rows by small instead of " +
      "tiled and 1 more like that: this shows in no bit.",
  );
  assert.equal(
    describeDeviceChange({ ...before, frozen: ["f16"] }, { ...before, frozen: ["q4", "q8"] }),
    "This run goes on with frozen weights in q4 and q8 instead of f16: its numbers are others from here on.",
  );
  assert.equal(
    describeDeviceChange(before, { ...before, cache: "bf16" }),
    "This run goes on with keys and values in bf16 instead of f32: its numbers are others from here on.",
  );
  assert.equal(
    describeDeviceChange(before, { ...before, variants: { gemm: { "few rows": "small" } } }),
    "This run goes on with gemm of few rows by small instead of tiled: this shows in no bit.",
  );
});
