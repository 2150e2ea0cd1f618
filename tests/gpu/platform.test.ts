/**
 * Facts about Deno's WebGPU and Dawn that the engine is built on. An upgrade that changes one must
 * fail here first.
 */

import assert from "node:assert/strict";
import { collectGarbage } from "../../src/platform/gpus/collect_garbage.ts";
import { Readback } from "../../src/gpu/readback.ts";
import { gpuOf, onEveryGpu, randomFloats } from "../kernels/harness.ts";

onEveryGpu("the native engine reads without awaiting, Dawn does not need to", async (gpu) => {
  const readback = await Readback.open(gpu.device, gpu.info.engine);
  assert.equal(readback.immediate, gpu.info.engine === "native");
});

Deno.test("the garbage collector comes when it is called", async () => {
  let collected = 0;
  const registry = new FinalizationRegistry(() => collected++);
  for (let i = 0; i < 1000; i++) registry.register({}, i);
  collectGarbage();
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(collected > 900, `${collected} of 1000`);
});

onEveryGpu("a read of a small tensor takes less than native's 10 ms of sleep", async (gpu) => {
  const x = gpu.zeros([16]);
  await gpu.read(x);
  const times: number[] = [];
  for (let i = 0; i < 21; i++) {
    const start = performance.now();
    await gpu.read(x);
    times.push(performance.now() - start);
  }
  gpu.release(x);
  // The quickest, since a busy machine lets the others wait. Idle all take 0.1 to 0.3 ms on both engines.
  const least = Math.min(...times);
  assert.ok(least < 8, `${least} ms`);
});

onEveryGpu("subgroups are granted on request and work", async (gpu) => {
  assert.equal(gpu.info.subgroups, gpu.device.features.has("subgroups"));
  if (!gpu.info.subgroups) return;
  const code = `
@group(0) @binding(0) var<storage, read_write> result: array<u32>;
@compute @workgroup_size(64)
fn main(
  @builtin(local_invocation_index) local: u32,
  @builtin(subgroup_size) size: u32,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  result[local] = size;
  result[64u + local] = subgroupBroadcast(lane, 3u) + subgroupAdd(1u);
}`;
  const result = gpu.tensor([128], "u32");
  gpu.dispatch({ label: "subgroups", code }, {}, { result }, [1]);
  const values = await gpu.read(result);
  gpu.release(result);
  const size = values[0];
  assert.ok(size >= gpu.info.subgroupMinSize && size <= gpu.info.subgroupMaxSize);
  assert.ok(values.subarray(0, 64).every((value) => value === size));
  assert.ok(values.subarray(64).every((value) => value === 3 + size));
  // gemm.wgsl's variant for software drivers is laid out for this width.
  if (/llvmpipe/.test(gpu.info.name)) assert.equal(size, 8);
});

onEveryGpu("f16 arithmetic runs where it is listed", async (gpu) => {
  if (!gpu.info.f16) return;
  const code = `
@group(0) @binding(0) var<storage, read_write> result: array<f32>;
@compute @workgroup_size(1) fn main() { result[0] = f32(f16(result[0]) + f16(0.5)); }`;
  const result = gpu.from(Float32Array.of(2048), [1]);
  gpu.dispatch({ label: "f16", code }, {}, { result }, [1]);
  // At 2048 an f16 has no halves left.
  assert.deepEqual(await gpu.readFloats(result), Float32Array.of(2048));
  gpu.release(result);
});

onEveryGpu("f16 pairs unpack exactly without the f16 extension", async (gpu) => {
  const code = `
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<vec2<f32>>;
@compute @workgroup_size(1) fn main(@builtin(workgroup_id) i: vec3<u32>) { y[i.x] = unpack2x16float(x[i.x]); }`;
  // 1, -2, the largest, the smallest normal, the smallest subnormal, -0
  const x = gpu.from(Uint16Array.of(0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x8000), [6]);
  const y = gpu.tensor([6]);
  gpu.dispatch({ label: "unpack", code }, {}, { x, y }, [3]);
  const expected = Float32Array.of(1, -2, 65504, 2 ** -14, 2 ** -24, -0);
  assert.deepEqual(await gpu.readFloats(y), expected);
  gpu.release(x, y);
});

onEveryGpu("fma has the same bits for scalars and vectors, in loops and unrolled", async (gpu) => {
  // WGSL lets a driver round once or twice (lavapipe: twice). What the engine needs is that it does
  // the same everywhere, since two kernels must sum the same product to the same bits.
  const count = 4096;
  const code = `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1)
fn main() {
  var scalar = 0.0;
  for (var i = 0u; i < ${count}u; i++) { scalar = fma(x[i], x[(i + 1u) % ${count}u], scalar); }
  var lanes = 0.0;
  for (var i = 0u; i < ${count / 4}u; i++) {
    let a = v[i];
    let b = vec4<f32>(a.yzw, v[(i + 1u) % ${count / 4}u].x);
    //#for c 0 4
    lanes = fma(vec4<f32>(a[$c]), b, vec4<f32>(lanes))[$c];
    //#endfor
  }
  y[0] = scalar;
  y[1] = lanes;
}`;
  const data = randomFloats(count, 5);
  const [x, v, y] = [gpu.from(data, [count]), gpu.from(data, [count]), gpu.tensor([2])];
  gpu.dispatch({ label: "fma", code }, {}, { x, v, y }, [1]);
  const [scalar, lanes] = await gpu.readFloats(y);
  assert.equal(scalar, lanes);
  let [once, twice] = [0, 0];
  data.forEach((value, i) => {
    const product = value * data[(i + 1) % count];
    once = Math.fround(product + once);
    twice = Math.fround(Math.fround(product) + twice);
  });
  // `once` is exact but for double rounding, which these numbers seldom meet.
  assert.ok(scalar === twice || Math.abs(scalar - once) < 1e-5 * Math.abs(once));
  gpu.release(x, v, y);
});

Deno.test({
  name: "both engines run on the same kind of adapter",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const [native, dawn] = [await gpuOf("native"), await gpuOf("dawn")];
    assert.equal(native.info.software, dawn.info.software);
    assert.equal(native.info.subgroupMinSize, dawn.info.subgroupMinSize);
  },
});
