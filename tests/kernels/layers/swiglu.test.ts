import assert from "node:assert/strict";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { gemm } from "../../../src/kernels/products/gemm.ts";
import {
  type GemmVariant,
  runnableGemmVariants,
} from "../../../src/kernels/products/gemm_variants.ts";
import { swigluBackward, swigluForward } from "../../../src/kernels/layers/swiglu.ts";
import { type Activation, activations } from "../../../src/kernels/parts/activation.ts";
import { assertClose, onEveryGpu, randomFloats } from "../harness.ts";
import { onMatrixUnits } from "../on_matrix_units.ts";

const shapes = [[1, 4], [257, 132], [3, 4864]] as const;
const bound = {
  absolute: 4e-6,
  relative: 4e-6,
  why: "exp of up to 8 is some 20 half-ulps off in WGSL; products of size up to 60 follow",
};

function forwardReference(activation: Activation, gate: number, up: number): number {
  if (activation === "silu") return gate / (1 + Math.exp(-gate)) * up;
  const inner = Math.sqrt(2 / Math.PI) * (gate + 0.044715 * gate ** 3);
  return 0.5 * gate * (1 + Math.tanh(inner)) * up;
}

/** gate and up of every element of h, from the rows where they lie side by side. */
function halves(gateUp: Float32Array, rows: number, columns: number) {
  const pick = (offset: number) =>
    Float32Array.from(
      { length: rows * columns },
      (_, i) => gateUp[Math.floor(i / columns) * 2 * columns + offset + i % columns],
    );
  return { gate: pick(0), up: pick(columns) };
}

async function forward(
  gpu: Gpu,
  data: Float32Array,
  rows: number,
  columns: number,
  activation: Activation = "silu",
) {
  const [gateUp, h] = [gpu.from(data, [rows, 2 * columns]), gpu.tensor([rows, columns])];
  swigluForward(gpu, gateUp, h, activation);
  const result = await gpu.readFloats(h);
  gpu.release(gateUp, h);
  return result;
}

async function backward(
  gpu: Gpu,
  data: Float32Array,
  dhData: Float32Array,
  rows: number,
  columns: number,
  activation: Activation = "silu",
) {
  const [gateUp, dh] = [gpu.from(data, [rows, 2 * columns]), gpu.from(dhData, [rows, columns])];
  const gradient = gpu.tensor([rows, 2 * columns]);
  swigluBackward(gpu, gateUp, dh, gradient, activation);
  const result = await gpu.readFloats(gradient);
  gpu.release(gateUp, dh, gradient);
  return result;
}

for (const activation of activations) {
  onEveryGpu(`swiglu forward, ${activation}`, async (gpu) => {
    for (const [rows, columns] of shapes) {
      const data = randomFloats(rows * 2 * columns, 1, 8);
      const { gate, up } = halves(data, rows, columns);
      const expected = Float64Array.from(
        gate,
        (value, i) => forwardReference(activation, value, up[i]),
      );
      assertClose(await forward(gpu, data, rows, columns, activation), expected, bound);
    }
  });

  onEveryGpu(`swiglu backward agrees with finite differences, ${activation}`, async (gpu) => {
    const step = 1e-5;
    for (const [rows, columns] of shapes) {
      const data = randomFloats(rows * 2 * columns, 2, 8);
      const dh = randomFloats(rows * columns, 3);
      const result = halves(
        await backward(gpu, data, dh, rows, columns, activation),
        rows,
        columns,
      );
      const { gate, up } = halves(data, rows, columns);
      const slope = (f: (offset: number, i: number) => number) =>
        Float64Array.from(dh, (value, i) => value * (f(step, i) - f(-step, i)) / (2 * step));
      const of = (gate: number, up: number) => forwardReference(activation, gate, up);
      assertClose(result.gate, slope((offset, i) => of(gate[i] + offset, up[i])), bound);
      assertClose(result.up, slope((offset, i) => of(gate[i], up[i] + offset)), bound);
    }
  });

  onEveryGpu(
    `swiglu of extreme gates neither overflows nor becomes NaN, ${activation}`,
    async (gpu) => {
      const data = Float32Array.of(-1e4, -100, 100, 1e4, 1, 1, 1, 1);
      const through = [...await forward(gpu, data, 1, 4, activation)].map((value) => value + 0);
      assert.deepEqual(through, [0, 0, 100, 1e4]);
      const gradient = await backward(gpu, data, new Float32Array(4).fill(1), 1, 4, activation);
      assertClose(gradient, [0, 0, 1, 1, 0, 0, 100, 1e4], bound);
    },
  );
}

onEveryGpu("a row of swiglu has the same bits alone and in a batch", async (gpu) => {
  const [rows, columns] = [257, 132];
  const data = randomFloats(rows * 2 * columns, 4, 8);
  const dh = randomFloats(rows * columns, 5);
  const h = await forward(gpu, data, rows, columns);
  const gradient = await backward(gpu, data, dh, rows, columns);
  for (const row of [0, 100, 256]) {
    const own = data.slice(row * 2 * columns, (row + 1) * 2 * columns);
    const dhRow = dh.slice(row * columns, (row + 1) * columns);
    assert.deepEqual(
      await forward(gpu, own, 1, columns),
      h.slice(row * columns, (row + 1) * columns),
    );
    assert.deepEqual(
      await backward(gpu, own, dhRow, 1, columns),
      gradient.slice(row * 2 * columns, (row + 1) * 2 * columns),
    );
  }
});

/** Gate, up and what the gate lets through, by the product and swiglu and by the gated product. */
async function gatedBoth(
  gpu: Gpu,
  rows: number,
  columns: number,
  variant: GemmVariant,
  activation: Activation,
) {
  const depth = 40;
  const tensors = {
    a: gpu.from(randomFloats(rows * depth, 6, 2), [rows, depth]),
    b: gpu.from(randomFloats(2 * columns * depth, 7), [2 * columns, depth]),
    product: gpu.tensor([rows, 2 * columns]),
    through: gpu.tensor([rows, columns]),
    kept: gpu.tensor([rows, 2 * columns]),
    gated: gpu.tensor([rows, columns]),
  };
  const { a, b, product, through, kept, gated } = tensors;
  gemm(gpu, "nt", a, b, product, { variant });
  swigluForward(gpu, product, through, activation);
  gemm(gpu, "nt", a, b, gated, { variant, gated: { kept, activation } });
  const found = await gpu.readAll([product, through, kept, gated]);
  gpu.release(...Object.values(tensors));
  return found;
}

/** The smallest of each way of sharing: they compile in seconds. */
function variantOfEachKind(gpu: Gpu): GemmVariant[] {
  const all = runnableGemmVariants(gpu.tuning, "nt");
  return [...new Map(all.toReversed().map((variant) => [variant.sharing, variant])).values()];
}

async function checkGated(gpu: Gpu): Promise<void> {
  for (const variant of variantOfEachKind(gpu)) {
    // Both leave the edge of every tile ragged.
    for (const [rows, columns, activation] of [[1, 20, "gelu"], [37, 76, "silu"]] as const) {
      const found = await gatedBoth(gpu, rows, columns, variant, activation);
      const [product, through, kept, gated] = found;
      assert.ok(product.every((x) => Number.isFinite(x)) && product.some((x) => x !== 0));
      assert.deepEqual(kept, product, `gate and up of ${variant.name}`);
      assert.deepEqual(gated, through, variant.name);
    }
  }
}

onEveryGpu("a gated product has the bits of the product and swiglu", checkGated);
onMatrixUnits("a gated product has the bits of the product and swiglu", ["f16"], checkGated);

onEveryGpu(
  "a gated product too long for one launch is cut by rows, with the same bits",
  async (gpu) => {
    const hurried = await Gpu.open(gpu.info.engine, { submitSeconds: 1e-9 });
    const [variant] = variantOfEachKind(gpu);
    assert.deepEqual(
      await gatedBoth(hurried, 150, 20, variant, "gelu"),
      await gatedBoth(gpu, 150, 20, variant, "gelu"),
    );
    hurried.close();
  },
);

onEveryGpu("a gated product takes nothing else with it", (gpu) => {
  const [a, b, c] = [[1, 4], [8, 4], [1, 4]].map((shape) => gpu.tensor(shape));
  const gated = { kept: null };
  assert.throws(() => gemm(gpu, "nt", a, b, c, { gated, scale: 2 }), /gated, and scale with it/);
  assert.throws(() => gemm(gpu, "nn", a, b, c, { gated }), /gated, in layout nn/);
  gpu.release(a, b, c);
  return Promise.resolve();
});
