import assert from "node:assert/strict";
import { Gpu } from "../../../src/gpu/gpu.ts";
import type { Tensor } from "../../../src/gpu/tensor.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { describedDevice } from "../described_device.ts";

/** total += x + more, and x is kept in history[step] */
const addUp = {
  label: "add up",
  code: `
struct Params {
  step: u32,
  more: f32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> total: array<f32>;
@group(0) @binding(3) var<storage, read_write> history: array<f32>;
@compute @workgroup_size(1)
fn main() {
  total[0] += x[0] + params.more;
  history[params.step] = x[0];
}`,
};

/** y = 2 x */
const double = {
  label: "double",
  code: `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1)
fn main() { y[0] = 2.0 * x[0]; }`,
};

/** Doubles the total by way of a tensor of its own, and adds to it. */
function step(gpu: Gpu, total: Tensor, history: Tensor, number: number | null): void {
  gpu.scope(() => {
    const x = gpu.tensor([1]);
    gpu.dispatch(double, {}, { x: total, y: x }, [1]);
    const parameters = { step: number ?? { first: 0, by: 1 }, more: 1 };
    gpu.dispatch(addUp, parameters, { x, total, history }, [1]);
  });
}

onEveryGpu("what is repeated has the numbers of doing it again and again", async (gpu) => {
  const [total, history, expected, wanted] = [1, 9, 1, 9].map((size) => gpu.zeros([size]));
  for (let s = 0; s < 9; s++) step(gpu, expected, wanted, s);
  gpu.repeat(9, () => step(gpu, total, history, null));
  const [a, b, c, d] = await gpu.readAll([total, history, expected, wanted]);
  assert.deepEqual([a, b], [c, d]);
  gpu.repeat(0, () => assert.fail("asked for no times"));
  gpu.release(total, history, expected, wanted);
});

onEveryGpu("memory that is given back within a repetition spoils nothing", async (gpu) => {
  const [total, history] = [gpu.zeros([1]), gpu.zeros([3])];
  let bodies = 0;
  gpu.repeat(3, () => {
    step(gpu, total, history, null);
    if (bodies++ === 0) gpu.pool.trim();
  });
  assert.equal(bodies, 2);
  assert.deepEqual([...await gpu.readFloats(history)], [0, 2, 8]);
  gpu.release(total, history);
});

onEveryGpu("only launches can be repeated", (gpu) => {
  const x = gpu.zeros([1]);
  const refused = (body: () => void, message: RegExp) =>
    assert.throws(() => gpu.repeat(2, body), message);
  refused(() => gpu.write(x, Float32Array.of(1)), /launches alone, not writing a tensor/);
  refused(() => gpu.clear(x), /launches alone, not clearing/);
  refused(() => gpu.copy(x, x), /launches alone, not a copy/);
  refused(() => gpu.repeat(2, () => {}), /not within itself/);
  // None of this left anything behind.
  gpu.write(x, Float32Array.of(1));
  gpu.release(x);
  return Promise.resolve();
});

Deno.test("a launch seen before compiles nothing and makes no bind group", () => {
  const gpu = Gpu.rehearsalOf(describedDevice(true, 8), {
    maxStorageBufferBindingSize: 2 ** 27,
    maxBufferSize: 2 ** 27,
    minUniformBufferOffsetAlignment: 64,
  });
  const made = { createBindGroup: 0, createComputePipeline: 0, createBuffer: 0 };
  const device = gpu.device as unknown as Record<string, (...given: unknown[]) => unknown>;
  for (const name of Object.keys(made) as (keyof typeof made)[]) {
    const make = device[name];
    device[name] = (...given) => {
      made[name]++;
      return make(...given);
    };
  }
  const [total, history] = [gpu.zeros([1]), gpu.zeros([9])];
  step(gpu, total, history, 0);
  const first = { ...made };
  assert.deepEqual(first, { createBindGroup: 2, createComputePipeline: 2, createBuffer: 3 });
  step(gpu, total, history, 1);
  gpu.repeat(9, () => step(gpu, total, history, null));
  assert.deepEqual(made, first);
  assert.deepEqual(gpu.kernels.map(({ label }) => label), ["double", "add up"]);
  gpu.close();
});
