import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Tensor } from "../../../src/gpu/tensor.ts";
import { UserError } from "../../../src/base/user_error.ts";
import {
  inverseTemperature,
  logSoftmax,
  logSoftmaxBackward,
  logSoftmaxFinish,
  logSoftmaxState,
  type VocabularyLanes,
} from "../../../src/kernels/losses/log_softmax.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";

const scale = 1 / 0.7;

interface Case {
  readonly rows: number;
  readonly columns: number;
  readonly logits: Float32Array;
  readonly targets: Uint32Array;
}

function makeCase(rows: number, columns: number): Case {
  const logits = randomFloats(rows * columns, rows + columns, 10);
  const targets = Uint32Array.from({ length: rows }, (_, r) => (r * 7919 + 5) % columns);
  return { rows, columns, logits, targets };
}

/** Log-prob, entropy and log-sum-exp of one row, in float64. */
function rowReference(logits: ArrayLike<number>, target: number) {
  const z = Array.from(logits, (x) => x * scale);
  const top = z.reduce((a, b) => Math.max(a, b));
  const logSumExp = top + Math.log(z.reduce((sum, x) => sum + Math.exp(x - top), 0));
  const entropy = z.reduce((sum, x) => sum - Math.exp(x - logSumExp) * (x - logSumExp), 0);
  return { logProb: z[target] - logSumExp, entropy, logSumExp };
}

/** Chunks of the logits with NaN in the padding, which must not matter. */
function chunksOf(gpu: Gpu, { rows, columns, logits }: Case, width: number) {
  const chunks: { logits: Tensor; firstColumn: number; columns: number }[] = [];
  for (let firstColumn = 0; firstColumn < columns; firstColumn += width) {
    const count = Math.min(width, columns - firstColumn);
    const stride = Math.ceil(count / 4) * 4 + 4;
    const data = new Float32Array(rows * stride).fill(NaN);
    for (let r = 0; r < rows; r++) {
      const start = r * columns + firstColumn;
      data.set(logits.subarray(start, start + count), r * stride);
    }
    chunks.push({ logits: gpu.from(data, [rows, stride]), firstColumn, columns: count });
  }
  return chunks;
}

function forward(gpu: Gpu, example: Case, width: number, lanes: VocabularyLanes) {
  const { rows } = example;
  const targets = gpu.from(example.targets, [rows]);
  const state = logSoftmaxState(gpu, rows);
  const chunks = chunksOf(gpu, example, width);
  for (const chunk of chunks) {
    logSoftmax(gpu, chunk, state, { targets, inverseTemperature: scale, lanes });
  }
  const vector = () => gpu.tensor([rows]);
  const outputs = { logProbs: vector(), entropy: vector(), logSumExp: vector() };
  logSoftmaxFinish(gpu, state, { inverseTemperature: scale }, outputs);
  return { targets, state, chunks, ...outputs };
}

async function forwardFloats(gpu: Gpu, example: Case, width: number, lanes: VocabularyLanes) {
  const { targets, state, chunks, logProbs, entropy, logSumExp } = forward(
    gpu,
    example,
    width,
    lanes,
  );
  const data = await gpu.readAll([logProbs, entropy, logSumExp]);
  const logits = chunks.map((chunk) => chunk.logits);
  gpu.release(targets, state, logProbs, entropy, logSumExp, ...logits);
  return data as Float32Array[];
}

for (const [rows, columns] of [[1, 131], [257, 131], [1, 5000], [33, 5000]]) {
  onEveryGpu(`log-probs and entropy of ${rows} rows, ${columns} columns`, async (gpu) => {
    const example = makeCase(rows, columns);
    const [logProbs, entropy, logSumExp] = await forwardFloats(gpu, example, columns, 1);
    const expected = Array.from(
      { length: rows },
      (_, r) =>
        rowReference(
          example.logits.subarray(r * columns, (r + 1) * columns),
          example.targets[r],
        ),
    );
    const tolerance = {
      absolute: 2e-5,
      relative: 2e-6,
      why: "a few f32 roundings of numbers up to 40 and exp to about 3 units in the last place",
    };
    assertClose(logProbs, expected.map((row) => row.logProb), tolerance);
    assertClose(entropy, expected.map((row) => row.entropy), tolerance);
    assertClose(logSumExp, expected.map((row) => row.logSumExp), tolerance);
    // Neither the cut nor the lanes show in the bits.
    for (const width of [1024, 2048, 5120]) {
      for (const lanes of [1, 128] as const) {
        const other = await forwardFloats(gpu, example, width, lanes);
        assert.deepEqual(other, [logProbs, entropy, logSumExp], `${width} columns, ${lanes} lanes`);
      }
    }
  });
}

onEveryGpu("a row's log-prob has the same bits alone and among others", async (gpu) => {
  const all = makeCase(40, 1500);
  const [logProbs, entropy] = await forwardFloats(gpu, all, 1500, 1);
  for (const row of [0, 13, 39]) {
    const alone: Case = {
      rows: 1,
      columns: 1500,
      logits: all.logits.slice(row * 1500, (row + 1) * 1500),
      targets: all.targets.slice(row, row + 1),
    };
    const [logProb, h] = await forwardFloats(gpu, alone, 1024, 1);
    assert.equal(logProb[0], logProbs[row]);
    assert.equal(h[0], entropy[row]);
  }
});

onEveryGpu("logits of minus infinity have no mass and no gradient", async (gpu) => {
  const logits = Float32Array.of(-Infinity, 1, -Infinity, 2, 0.5, -Infinity);
  const example = { rows: 1, columns: 6, logits, targets: Uint32Array.of(3) };
  const expected = rowReference([1, 2, 0.5], 1);
  for (const lanes of [1, 128] as const) {
    const [logProbs, entropy] = await forwardFloats(gpu, example, 6, lanes);
    const tolerance = { absolute: 1e-6, relative: 0, why: "a few f32 roundings of numbers near 1" };
    assertClose(logProbs, [expected.logProb], tolerance);
    assertClose(entropy, [expected.entropy], tolerance);
  }
  const gradient = await gradientOf(gpu, example, 6, true);
  assert.deepEqual([gradient[0], gradient[2], gradient[5]].map(Math.abs), [0, 0, 0]);
});

/** The gradient of sum over rows of 0.3 (r + 1) logProb - 0.2 entropy, chunk by chunk. */
async function gradientOf(gpu: Gpu, example: Case, width: number, inPlace: boolean) {
  const { rows, columns } = example;
  const made = forward(gpu, example, width, 1);
  const { targets, chunks, logProbs, entropy, logSumExp, state } = made;
  const weights = Float32Array.from({ length: rows }, (_, r) => 0.3 * (r + 1));
  const logProbGradient = gpu.from(weights, [rows]);
  const entropyGradient = gpu.from(new Float32Array(rows).fill(-0.2), [rows]);
  const perRow = { logSumExp, entropy, targets, logProbGradient, entropyGradient };
  const result = new Float32Array(rows * columns);
  for (const chunk of chunks) {
    const stride = chunk.logits.shape[1];
    const target = inPlace ? chunk.logits : gpu.tensor([rows, stride]);
    logSoftmaxBackward(gpu, chunk, perRow, target, { inverseTemperature: scale });
    const data = await gpu.readFloats(target);
    for (let r = 0; r < rows; r++) {
      const row = data.subarray(r * stride, (r + 1) * stride);
      result.set(row.subarray(0, chunk.columns), r * columns + chunk.firstColumn);
      assert.ok(row.subarray(chunk.columns).every((x) => x === 0), "padding is not 0");
    }
    if (!inPlace) gpu.release(target);
  }
  gpu.release(...chunks.map((chunk) => chunk.logits), logProbs, state, ...Object.values(perRow));
  return result;
}

onEveryGpu("the gradient matches finite differences", async (gpu) => {
  const example = makeCase(3, 131);
  const actual = await gradientOf(gpu, example, 131, true);
  const { logits, targets } = example;
  const expected = Array.from(actual, (_, i) => {
    const r = Math.floor(i / 131);
    const loss = (shift: number) => {
      const row = Array.from(logits.subarray(r * 131, (r + 1) * 131));
      row[i % 131] += shift;
      const { logProb, entropy } = rowReference(row, targets[r]);
      return 0.3 * (r + 1) * logProb - 0.2 * entropy;
    };
    return (loss(1e-4) - loss(-1e-4)) / 2e-4;
  });
  assertClose(actual, expected, {
    absolute: 2e-6,
    relative: 2e-5,
    why: "f32 exp of numbers up to 40 loses 40 units in the last place; differences are far better",
  });
});

onEveryGpu("the gradient of many columns, in chunks and in place", async (gpu) => {
  const example = makeCase(5, 5000);
  const actual = await gradientOf(gpu, example, 2048, true);
  const { logits, targets } = example;
  const expected = Array.from(actual, (_, i) => {
    const r = Math.floor(i / 5000);
    return { r, column: i % 5000 };
  });
  const rows = Array.from(
    targets,
    (target, r) => rowReference(logits.subarray(r * 5000, (r + 1) * 5000), target),
  );
  assertClose(
    actual,
    expected.map(({ r, column }) => {
      const logP = logits[r * 5000 + column] * scale - rows[r].logSumExp;
      const hit = column === targets[r] ? 1 : 0;
      const p = Math.exp(logP);
      return scale * (0.3 * (r + 1) * (hit - p) + 0.2 * p * (logP + rows[r].entropy));
    }),
    { absolute: 1e-6, relative: 2e-5, why: "f32 exp of numbers up to 40" },
  );
  assert.deepEqual(await gradientOf(gpu, example, 1024, false), actual);
});

Deno.test("temperature 0 leaves log-probs unscaled; bad temperatures are refused", () => {
  assert.equal(inverseTemperature(0), 1);
  assert.equal(inverseTemperature(0.5), 2);
  for (const bad of [-1, NaN, Infinity]) assert.throws(() => inverseTemperature(bad), UserError);
});
