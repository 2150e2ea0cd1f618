import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import {
  biasBackward,
  rmsnormBackward,
  rmsnormForward,
  type RowLanes,
} from "../../../src/kernels/layers/rmsnorm.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";

const laneChoices: readonly RowLanes[] = [1, 64];
const shapes = [[1, 132], [257, 68], [17, 4], [5, 896]] as const;
const epsilon = 1e-6;

const forwardBound = {
  absolute: 1e-7,
  relative: 2e-6,
  why: "up to 900 squares summed in f32, halved by the root, and four roundings: some 20 half-ulps",
};
const backwardBound = {
  absolute: 5e-6,
  relative: 2e-6,
  why: "gradients of size 1 to 4 are differences of terms as large, each some 20 half-ulps off",
};
const columnBound = (rows: number) => ({
  absolute: 2 * Math.sqrt(rows) * 2 ** -24 * rows,
  relative: 1e-6,
  why: "each of the T additions rounds a sum of up to T terms of size 1 to 2",
});

interface Case {
  readonly rows: number;
  readonly columns: number;
  readonly x: Float32Array;
  readonly weight: Float32Array;
  readonly dy: Float32Array;
  readonly upstream: Float32Array;
}

function randomCase(rows: number, columns: number): Case {
  const seed = rows + columns;
  return {
    rows,
    columns,
    x: randomFloats(rows * columns, seed),
    weight: randomFloats(columns, seed + 1),
    dy: randomFloats(rows * columns, seed + 2),
    upstream: randomFloats(rows * columns, seed + 3),
  };
}

function rowsOf(whole: Case, first: number, rows: number): Case {
  const cut = (data: Float32Array) =>
    data.slice(first * whole.columns, (first + rows) * whole.columns);
  const { columns, weight, x, dy, upstream } = whole;
  return { rows, columns, weight, x: cut(x), dy: cut(dy), upstream: cut(upstream) };
}

/** y and rstd in float64. */
function forwardReference(
  { rows, columns }: Case,
  x: ArrayLike<number>,
  weight: ArrayLike<number>,
) {
  const y = new Float64Array(rows * columns);
  const rstd = new Float64Array(rows);
  for (let t = 0; t < rows; t++) {
    let sum = 0;
    for (let j = 0; j < columns; j++) sum += x[t * columns + j] ** 2;
    rstd[t] = 1 / Math.sqrt(sum / columns + epsilon);
    for (let j = 0; j < columns; j++) {
      y[t * columns + j] = x[t * columns + j] * rstd[t] * weight[j];
    }
  }
  return { y, rstd };
}

/** dx (without upstream) and the weight gradient in float64. */
function backwardReference(data: Case) {
  const { rows, columns, x, weight, dy } = data;
  const { rstd } = forwardReference(data, x, weight);
  const dx = new Float64Array(rows * columns);
  const dWeight = new Float64Array(columns);
  for (let t = 0; t < rows; t++) {
    let mean = 0;
    for (let j = 0; j < columns; j++) {
      const at = t * columns + j;
      mean += dy[at] * weight[j] * x[at] / columns;
      dWeight[j] += dy[at] * x[at] * rstd[t];
    }
    for (let j = 0; j < columns; j++) {
      const at = t * columns + j;
      dx[at] = rstd[t] * (dy[at] * weight[j] - x[at] * rstd[t] ** 2 * mean);
    }
  }
  return { dx, dWeight };
}

async function runForward(gpu: Gpu, data: Case, lanes: RowLanes) {
  const { rows, columns } = data;
  const x = gpu.from(data.x, [rows, columns]);
  const weight = gpu.from(data.weight, [columns]);
  const [y, rstd] = [gpu.tensor([rows, columns]), gpu.tensor([rows])];
  rmsnormForward(gpu, x, weight, y, rstd, epsilon, { lanes });
  const [yData, rstdData] = await gpu.readAll([y, rstd]);
  gpu.release(x, weight, y, rstd);
  return { y: yData, rstd: rstdData };
}

function tensorsOf(
  gpu: Gpu,
  data: Case,
  start: Float32Array<ArrayBufferLike> = new Float32Array(data.columns),
) {
  const { rows, columns } = data;
  return {
    x: gpu.from(data.x, [rows, columns]),
    weight: gpu.from(data.weight, [columns]),
    rstd: gpu.tensor([rows]),
    dy: gpu.from(data.dy, [rows, columns]),
    dx: gpu.tensor([rows, columns]),
    weightGradient: gpu.from(start, [columns]),
  };
}

/** Forward and backward; the weight gradient continues from `start`. */
async function runBackward(
  gpu: Gpu,
  data: Case,
  lanes: RowLanes,
  options: { readonly upstream: boolean; readonly start?: Float32Array },
) {
  const { rows, columns } = data;
  const tensors = tensorsOf(gpu, data, options.start);
  const y = gpu.tensor([rows, columns]);
  const upstream = options.upstream ? gpu.from(data.upstream, [rows, columns]) : null;
  rmsnormForward(gpu, tensors.x, tensors.weight, y, tensors.rstd, epsilon, { lanes });
  rmsnormBackward(gpu, { ...tensors, upstream }, { lanes });
  const [dx, dWeight] = await gpu.readAll([tensors.dx, tensors.weightGradient]);
  gpu.release(...Object.values(tensors), y, ...(upstream ? [upstream] : []));
  return { dx: dx as Float32Array, dWeight: dWeight as Float32Array };
}

onEveryGpu("rmsnorm forward", async (gpu) => {
  for (const lanes of laneChoices) {
    for (const [rows, columns] of shapes) {
      const data = randomCase(rows, columns);
      const { y, rstd } = await runForward(gpu, data, lanes);
      const expected = forwardReference(data, data.x, data.weight);
      assertClose(y, expected.y, forwardBound);
      assertClose(rstd, expected.rstd, forwardBound);
    }
  }
});

onEveryGpu("rmsnorm of a row of zeros is zero", async (gpu) => {
  for (const lanes of laneChoices) {
    const data = { ...randomCase(3, 68), x: new Float32Array(3 * 68) };
    const { y, rstd } = await runForward(gpu, data, lanes);
    assert.ok(y.every((value) => value === 0));
    assertClose(rstd, new Array(3).fill(1 / Math.sqrt(epsilon)), forwardBound);
  }
});

onEveryGpu("rmsnorm backward", async (gpu) => {
  for (const lanes of laneChoices) {
    for (const [rows, columns] of shapes) {
      const data = randomCase(rows, columns);
      const expected = backwardReference(data);
      const plain = await runBackward(gpu, data, lanes, { upstream: false });
      assertClose(plain.dx, expected.dx, backwardBound);
      assertClose(plain.dWeight, expected.dWeight, columnBound(rows));
      const withUpstream = await runBackward(gpu, data, lanes, { upstream: true });
      const sum = expected.dx.map((value, i) => value + data.upstream[i]);
      assertClose(withUpstream.dx, sum, backwardBound);
    }
  }
});

onEveryGpu("rmsnorm backward agrees with finite differences", async (gpu) => {
  const data = randomCase(3, 8);
  const loss = (x: ArrayLike<number>, weight: ArrayLike<number>) =>
    forwardReference(data, x, weight).y.reduce((sum, value, i) => sum + value * data.dy[i], 0);
  const step = 1e-5;
  const slope = (values: Float32Array, f: (values: Float64Array) => number) =>
    Float64Array.from(values, (_, i) => {
      const [up, down] = [Float64Array.from(values), Float64Array.from(values)];
      up[i] += step;
      down[i] -= step;
      return (f(up) - f(down)) / (2 * step);
    });
  for (const lanes of laneChoices) {
    const { dx, dWeight } = await runBackward(gpu, data, lanes, { upstream: false });
    assertClose(dx, slope(data.x, (x) => loss(x, data.weight)), backwardBound);
    assertClose(dWeight, slope(data.weight, (weight) => loss(data.x, weight)), columnBound(3));
  }
});

onEveryGpu("a row of rmsnorm has the same bits alone and in a batch", async (gpu) => {
  const columns = 132;
  const whole = randomCase(257, columns);
  for (const lanes of laneChoices) {
    const { y } = await runForward(gpu, whole, lanes);
    const { dx } = await runBackward(gpu, whole, lanes, { upstream: true });
    for (const [first, count] of [[0, 1], [256, 1], [100, 40]]) {
      const part = rowsOf(whole, first, count);
      const range = [first * columns, (first + count) * columns];
      assert.deepEqual((await runForward(gpu, part, lanes)).y, y.slice(...range));
      const alone = await runBackward(gpu, part, lanes, { upstream: true });
      assert.deepEqual(alone.dx, dx.slice(...range));
    }
  }
});

onEveryGpu(
  "the gradient of a norm's weight has the same bits however the tokens are cut",
  async (gpu) => {
    const whole = randomCase(257, 68);
    for (const lanes of laneChoices) {
      const expected = (await runBackward(gpu, whole, lanes, { upstream: false })).dWeight;
      for (const cut of [100, 1, 256]) {
        let start: Float32Array | undefined;
        for (const part of [rowsOf(whole, 0, cut), rowsOf(whole, cut, 257 - cut)]) {
          start = (await runBackward(gpu, part, lanes, { upstream: false, start })).dWeight;
        }
        assert.deepEqual(start, expected);
      }
    }
  },
);

onEveryGpu("the gradient of a bias sums its columns, however the tokens are cut", async (gpu) => {
  for (const [rows, columns] of [[1, 4], [257, 132]]) {
    const dy = randomFloats(rows * columns, 3);
    const whole = gpu.from(dy, [rows, columns]);
    const first = Math.ceil(rows * 0.4);
    const part = (from: number, count: number) => {
      const tensor = gpu.tensor([count, columns]);
      gpu.write(tensor, dy.subarray(from * columns, (from + count) * columns));
      return tensor;
    };
    const parts = first < rows ? [part(0, first), part(first, rows - first)] : [part(0, rows)];
    const [once, cut] = [gpu.zeros([columns]), gpu.zeros([columns])];
    biasBackward(gpu, whole, once);
    for (const dyPart of parts) biasBackward(gpu, dyPart, cut);
    const [onceData, cutData] = await gpu.readAll([once, cut]);
    const expected = new Float64Array(columns);
    dy.forEach((value, i) => expected[i % columns] += value);
    assertClose(onceData, expected, columnBound(rows));
    assert.deepEqual(cutData, onceData);
    gpu.release(whole, once, cut, ...parts);
  }
});

onEveryGpu("rmsnorm by 1 + weight, with a residual, and its gradients", async (gpu) => {
  for (const lanes of laneChoices) {
    const data = randomCase(17, 132);
    const { rows, columns } = data;
    // The same norm by the weights as they multiply; 1 + weight is rounded alike there.
    const gains = { ...data, weight: data.weight.map((weight) => Math.fround(1 + weight)) };
    const { y } = await runForward(gpu, gains, lanes);
    const tensors = tensorsOf(gpu, data);
    const sum = gpu.tensor([rows, columns]);
    const residual = gpu.from(data.upstream, [rows, columns]);
    const options = { lanes, fromOne: true };
    rmsnormForward(gpu, tensors.x, tensors.weight, sum, tensors.rstd, epsilon, {
      ...options,
      residual,
    });
    rmsnormBackward(gpu, { ...tensors, upstream: null }, options);
    const [found, dx, dWeight] = await gpu.readAll([sum, tensors.dx, tensors.weightGradient]);
    const expected = Float64Array.from(y, (value, i) => value + data.upstream[i]);
    assertClose(found as Float32Array, expected, {
      absolute: 2 ** -22,
      relative: 2 ** -23,
      why: "one addition, which a driver may join with the product before it",
    });
    const other = await runBackward(gpu, gains, lanes, { upstream: false });
    assertClose(dx as Float32Array, other.dx, backwardBound);
    assertClose(dWeight as Float32Array, other.dWeight, columnBound(rows));
    gpu.release(...Object.values(tensors), sum, residual);
  }
});
