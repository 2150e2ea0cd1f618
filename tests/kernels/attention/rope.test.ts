import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { CacheDtype, Tensor } from "../../../src/gpu/tensor.ts";
import { ropeBackward, ropeForward } from "../../../src/kernels/attention/rope.ts";
import { fromStorage, toStorage } from "../../../src/model/decoder/half_precision.ts";
import { inverseFrequencies, ropeTable } from "../../../src/kernels/attention/rope_table.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";

interface Case {
  readonly tokens: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly norm: boolean;
  /** R, where it is not D */
  readonly rotated?: number;
  readonly magnitude?: number;
}

const cases: readonly Case[] = [
  { tokens: 1, heads: 4, kvHeads: 2, headDim: 16, norm: false },
  { tokens: 37, heads: 3, kvHeads: 1, headDim: 64, norm: false },
  { tokens: 257, heads: 4, kvHeads: 2, headDim: 16, norm: true },
  { tokens: 5, heads: 2, kvHeads: 1, headDim: 128, norm: true },
  { tokens: 9, heads: 2, kvHeads: 1, headDim: 128, norm: false, rotated: 96, magnitude: 1.25 },
  { tokens: 9, heads: 3, kvHeads: 3, headDim: 32, norm: true, rotated: 8, magnitude: 0.75 },
  { tokens: 9, heads: 2, kvHeads: 1, headDim: 24, norm: true, rotated: 0 },
];

const theta = 10_000;
const epsilon = 1e-6;
const maxPositions = 300;

/** One head in float64: RMSNorm, then the rotation by complex numbers of Su et al. (2021). */
function rotateHead(
  x: ArrayLike<number>,
  weight: ArrayLike<number> | null,
  position: number,
  { rotated = x.length, magnitude = 1 }: Case,
): number[] {
  const headDim = x.length, half = rotated / 2;
  let squares = 0;
  for (let d = 0; d < headDim; d++) squares += x[d] * x[d];
  const rstd = weight ? 1 / Math.sqrt(squares / headDim + epsilon) : 1;
  const y = Array.from({ length: headDim }, (_, d) => x[d] * rstd * (weight ? weight[d] : 1));
  return y.map((value, d) => {
    if (d >= rotated) return value;
    const angle = position * theta ** (-2 * (d % half) / rotated);
    const partner = d < half ? -y[d + half] : y[d - half];
    return magnitude * (value * Math.cos(angle) + partner * Math.sin(angle));
  });
}

function dataOf({ tokens, heads, kvHeads, headDim, norm }: Case) {
  const width = (heads + 2 * kvHeads) * headDim;
  return {
    width,
    qkv: randomFloats(tokens * width, 1, 2),
    upstream: randomFloats(tokens * width, 2),
    queryNorm: norm ? randomFloats(headDim, 3).map((w) => w + 1.5) : null,
    keyNorm: norm ? randomFloats(headDim, 4).map((w) => w + 1.5) : null,
    positions: Uint32Array.from({ length: tokens }, (_, t) => (t * 7) % maxPositions),
  };
}

/** The rotated row of a token: query heads, key heads, value heads. */
function reference(c: Case, data: ReturnType<typeof dataOf>, t: number, row: ArrayLike<number>) {
  const output: number[] = [];
  for (let unit = 0; unit < c.heads + 2 * c.kvHeads; unit++) {
    const x = Array.from({ length: c.headDim }, (_, d) => row[unit * c.headDim + d]);
    if (unit >= c.heads + c.kvHeads) output.push(...x);
    else {
      const weight = unit < c.heads ? data.queryNorm : data.keyNorm;
      output.push(...rotateHead(x, weight, data.positions[t], c));
    }
  }
  return output;
}

/** Splits joint rows into queries, keys and values. */
function split(c: Case, joint: ArrayLike<number>): [Float32Array, Float32Array, Float32Array] {
  const [q, kv] = [c.heads * c.headDim, c.kvHeads * c.headDim];
  const width = q + 2 * kv;
  const part = (from: number, length: number) =>
    Float32Array.from(
      { length: c.tokens * length },
      (_, i) => joint[Math.floor(i / length) * width + from + i % length],
    );
  return [part(0, q), part(q, kv), part(q + kv, kv)];
}

/** Positions and, after them, the row of the cache that each token fills. */
function placesOf(gpu: Gpu, positions: Uint32Array, rowOf: (token: number) => number): Tensor {
  const rows = Uint32Array.from(positions, (_, t) => rowOf(t));
  return gpu.from(Uint32Array.of(...positions, ...rows), [2 * positions.length]);
}

function options(gpu: Gpu, c: Case, data: ReturnType<typeof dataOf>) {
  const { rotated = c.headDim, magnitude = 1 } = c;
  const frequencies = inverseFrequencies(rotated, theta);
  const table = ropeTable(gpu, maxPositions, { frequencies, pairs: c.headDim / 2, magnitude });
  if (!data.queryNorm || !data.keyNorm) return { ...c, table, norm: undefined };
  const queryNorm = gpu.from(data.queryNorm, [c.headDim]);
  const keyNorm = gpu.from(data.keyNorm, [c.headDim]);
  return { ...c, table, norm: { queryNorm, keyNorm, epsilon } };
}

const releaseOptions = (gpu: Gpu, { table, norm }: ReturnType<typeof options>) =>
  gpu.release(table, ...(norm ? [norm.queryNorm, norm.keyNorm] : []));

for (const cacheDtype of ["f16", "bf16"] as const) {
  onEveryGpu(`rope rounds keys and values to ${cacheDtype}, packed in the cache`, async (gpu) => {
    for (const c of [cases[1], cases[2]]) {
      const { tokens, heads, kvHeads, headDim } = c;
      const data = dataOf(c);
      // Subnormal in f16 and beyond it, in values, which nothing else changes.
      const special = [3e-6, -2.98e-8, 65519, 65520, -1e6, 0];
      data.qkv.set(special, data.width - headDim);
      const settings = options(gpu, c, data);
      const qkv = gpu.from(data.qkv, [tokens, data.width]);
      const positions = gpu.from(data.positions, [tokens]);
      const places = placesOf(gpu, data.positions, (t) => t);
      const queries = gpu.tensor([tokens, heads, headDim]);
      const shape = [tokens, kvHeads, headDim];
      const [exact, trained, cached] = (["f32", "f32", cacheDtype] as const).map((dtype) => ({
        keys: gpu.tensor(shape, dtype),
        values: gpu.tensor(shape, dtype),
      }));
      const run = (
        target: typeof exact,
        at: Tensor,
        changes: { cacheDtype: CacheDtype; keyRowsAt?: number },
      ) => ropeForward(gpu, qkv, at, { queries, ...target }, { ...settings, ...changes });
      run(exact, positions, { cacheDtype: "f32" });
      run(trained, positions, { cacheDtype });
      run(cached, places, { cacheDtype, keyRowsAt: tokens });
      for (const kind of ["keys", "values"] as const) {
        const numbers = await gpu.readFloats(exact[kind]);
        const wanted = fromStorage(toStorage(numbers, cacheDtype), cacheDtype)
          .map((value) => Number.isFinite(value) ? value : NaN);
        assert.equal(wanted.some(Number.isNaN), kind === "values" && cacheDtype === "f16");
        assert.deepEqual(await gpu.readFloats(trained[kind]), wanted);
        const [packed] = await gpu.readAll([cached[kind]]);
        assert.deepEqual(fromStorage(packed, cacheDtype), wanted);
      }
      releaseOptions(gpu, settings);
      gpu.release(qkv, positions, places, queries);
      for (const { keys, values } of [exact, trained, cached]) gpu.release(keys, values);
    }
  });
}

for (const c of cases) {
  const { tokens, heads, kvHeads, headDim, norm } = c;
  const name = `${tokens} tokens, head size ${headDim}${norm ? ", QK-norm" : ""}`;
  const units = heads + 2 * kvHeads;

  onEveryGpu(`rope ${name}`, async (gpu) => {
    const data = dataOf(c);
    const expected = Float64Array.from(
      Array.from(
        { length: tokens },
        (_, t) => reference(c, data, t, data.qkv.subarray(t * data.width, (t + 1) * data.width)),
      ).flat(),
    );
    const settings = options(gpu, c, data);
    const qkv = gpu.from(data.qkv, [tokens, data.width]);
    const positions = gpu.from(data.positions, [tokens]);
    const queries = gpu.tensor([tokens, heads, headDim]);
    const keys = gpu.tensor([tokens, kvHeads, headDim]);
    const values = gpu.tensor([tokens, kvHeads, headDim]);
    ropeForward(gpu, qkv, positions, { queries, keys, values }, { ...settings, cacheDtype: "f32" });
    const parts = split(c, expected);
    for (const [i, tensor] of [queries, keys, values].entries()) {
      assertClose(await gpu.readFloats(tensor), parts[i], {
        absolute: 2e-6,
        relative: 1e-6,
        why: "two products of numbers below 8, the cosines rounded to f32",
      });
    }

    // Into a cache: token t fills row 2 t + 1, every third token nothing.
    const rows = 2 * tokens + 3;
    const place = (t: number) => t % 3 === 1 ? 0xffffffff : 2 * t + 1;
    const places = placesOf(gpu, data.positions, place);
    const cacheKeys = gpu.zeros([rows, kvHeads, headDim]);
    const cacheValues = gpu.zeros([rows, kvHeads, headDim]);
    const cache = { queries, keys: cacheKeys, values: cacheValues };
    ropeForward(gpu, qkv, places, cache, {
      ...settings,
      keyRowsAt: tokens,
      cacheDtype: "f32",
    });
    for (const [packed, cached] of [[keys, cacheKeys], [values, cacheValues]]) {
      const source = await gpu.readFloats(packed);
      const wanted = new Float32Array(cached.size);
      const width = kvHeads * headDim;
      for (let t = 0; t < tokens; t++) {
        if (place(t) < rows) wanted.set(source.slice(t * width, (t + 1) * width), place(t) * width);
      }
      assert.deepEqual(await gpu.readFloats(cached), wanted);
    }
    releaseOptions(gpu, settings);
    gpu.release(qkv, positions, queries, keys, values, places, cacheKeys, cacheValues);
  });

  onEveryGpu(`rope backward ${name}`, async (gpu) => {
    const data = dataOf(c);
    const settings = options(gpu, c, data);
    // Central differences of L = sum(upstream * rope(qkv)) in float64.
    const loss = (t: number, changed: ReturnType<typeof dataOf>, row: ArrayLike<number>) =>
      reference(c, changed, t, row).reduce(
        (sum, y, i) => sum + y * data.upstream[t * data.width + i],
        0,
      );
    const step = 1e-5;
    const slope = (at: (shift: number) => number) => (at(step) - at(-step)) / (2 * step);
    const tested = [0, tokens - 1].flatMap((t) =>
      Array.from({ length: units * headDim }, (_, i) => ({ t, i }))
    ).filter(({ i }) => i % 5 === 0);
    const expected = tested.map(({ t, i }) => {
      const row = Float64Array.from(data.qkv.subarray(t * data.width, (t + 1) * data.width));
      return slope((shift) => loss(t, data, row.with(i, row[i] + shift)));
    });

    const qkv = gpu.from(data.qkv, [tokens, data.width]);
    const positions = gpu.from(data.positions, [tokens]);
    const dQkv = gpu.from(data.upstream, [tokens, data.width]);
    const held = randomFloats(headDim, 6);
    const normGradients = norm
      ? { queryNorm: gpu.from(held, [headDim]), keyNorm: gpu.from(held, [headDim]) }
      : null;
    ropeBackward(gpu, qkv, positions, dQkv, normGradients, settings);
    const actual = await gpu.readFloats(dQkv);
    assertClose(tested.map(({ t, i }) => actual[t * data.width + i]), expected, {
      absolute: 5e-6,
      relative: 5e-6,
      why: "f32 sums of up to 128 terms below 4; the differences are good to 1e-9",
    });
    if (normGradients) {
      for (const which of ["queryNorm", "keyNorm"] as const) {
        const weight = Float64Array.from(data[which] ?? []);
        const slopes = Array.from(weight, (_, d) =>
          held[d] + slope((shift) => {
            const changed = { ...data, [which]: weight.with(d, weight[d] + shift) };
            let total = 0;
            for (let t = 0; t < tokens; t++) {
              const row = data.qkv.subarray(t * data.width, (t + 1) * data.width);
              total += loss(t, changed, row);
            }
            return total;
          }));
        assertClose(await gpu.readFloats(normGradients[which]), slopes, {
          absolute: 2e-5,
          relative: 5e-6,
          why: "an f32 sum of up to 1028 terms below 2",
        });
      }
      gpu.release(normGradients.queryNorm, normGradients.keyNorm);
    }
    releaseOptions(gpu, settings);
    gpu.release(qkv, positions, dQkv);
  });
}

onEveryGpu("a norm gradient has the same bits in one batch and in two", async (gpu) => {
  const c = cases[2];
  const data = dataOf(c);
  const settings = options(gpu, c, data);
  const run = async (cuts: readonly (readonly [number, number])[]) => {
    const total = { queryNorm: gpu.zeros([c.headDim]), keyNorm: gpu.zeros([c.headDim]) };
    for (const [from, to] of cuts) {
      const tokens = to - from;
      const rows = (array: Float32Array) => array.slice(from * data.width, to * data.width);
      const qkv = gpu.from(rows(data.qkv), [tokens, data.width]);
      const positions = gpu.from(data.positions.slice(from, to), [tokens]);
      const dQkv = gpu.from(rows(data.upstream), [tokens, data.width]);
      ropeBackward(gpu, qkv, positions, dQkv, total, settings);
      await gpu.finish();
      gpu.release(qkv, positions, dQkv);
    }
    const result = [await gpu.readFloats(total.queryNorm), await gpu.readFloats(total.keyNorm)];
    gpu.release(total.queryNorm, total.keyNorm);
    return result;
  };
  assert.deepEqual(await run([[0, 100], [100, 257]]), await run([[0, 257]]));
  releaseOptions(gpu, settings);
});
