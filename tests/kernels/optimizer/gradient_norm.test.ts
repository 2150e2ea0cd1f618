import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import {
  gradientNorm,
  gradientNormPartials,
  partialElements,
} from "../../../src/kernels/optimizer/gradient_norm.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";

async function normOf(gpu: Gpu, gradients: Float32Array[], maxGradientNorm: number) {
  const tensors = gradients.map((data) => gpu.from(data, [data.length]));
  const outputs = {
    norm: gpu.tensor([1]),
    clipScale: gpu.tensor([1]),
    nonFinite: gpu.tensor([1], "u32"),
  };
  gradientNorm(gpu, tensors, outputs, maxGradientNorm);
  const read = await gpu.readAll(Object.values(outputs));
  gpu.release(...tensors, ...Object.values(outputs));
  return { norm: read[0][0], clipScale: read[1][0], nonFinite: read[2][0] };
}

onEveryGpu("the norm of several gradients and its clip scale", async (gpu) => {
  const gradients = [4, 8192 * 3 + 4, 70_000].map((size, i) => randomFloats(size, i + 1, 0.1));
  const norm = Math.sqrt(gradients.reduce((sum, data) => data.reduce((s, x) => s + x * x, sum), 0));
  const tolerance = { absolute: 0, relative: 2e-6, why: "f32 sums of 50 partial sums in a tree" };
  const found = await normOf(gpu, gradients, 1);
  assertClose([found.norm], [norm], tolerance);
  assertClose([found.clipScale], [1 / (norm + 1e-6)], tolerance);
  assert.equal(found.nonFinite, 0);
  assert.deepEqual(await normOf(gpu, gradients, 1), found);
  assert.equal((await normOf(gpu, gradients, 1000)).clipScale, 1);
  assert.equal((await normOf(gpu, gradients, Infinity)).clipScale, 1);
  const zero = await normOf(gpu, [new Float32Array(8)], 1);
  assert.deepEqual(zero, { norm: 0, clipScale: 1, nonFinite: 0 });
});

onEveryGpu("NaN and infinity are counted and stop the step", async (gpu) => {
  for (const bad of [[NaN], [Infinity], [-Infinity, NaN, -NaN]]) {
    const data = [randomFloats(20_000, 1), randomFloats(400, 2)];
    bad.forEach((value, i) => data[i % 2][399 - 37 * i] = value);
    const { clipScale, nonFinite } = await normOf(gpu, data, 1);
    assert.equal(nonFinite, bad.length);
    assert.equal(clipScale, 0);
  }
});

onEveryGpu("a sum of squares that overflows stops the step", async (gpu) => {
  const { clipScale, nonFinite } = await normOf(gpu, [new Float32Array(8).fill(1e25)], 1);
  assert.equal(clipScale, 0);
  assert.equal(nonFinite, 1);
});

onEveryGpu("pieces of a tensor have the partial sums of the whole", async (gpu) => {
  const size = 5 * partialElements + 132;
  const tensor = gpu.from(randomFloats(size, 3), [size]);
  const partials = gpu.tensor([6, 2], "u32");
  gradientNormPartials(gpu, [tensor], partials);
  const whole = await gpu.read(partials);
  const pieces = [[0, 2], [2, 3], [3, 6]].map(([first, end]) => {
    const start = first * partialElements;
    return tensor.view(start, [Math.min(end * partialElements, size) - start]);
  });
  gpu.clear(partials);
  gradientNormPartials(gpu, pieces, partials);
  assert.deepEqual(await gpu.read(partials), whole);
  gpu.release(tensor, partials);
});
