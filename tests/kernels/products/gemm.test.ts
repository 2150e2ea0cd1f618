import assert from "node:assert/strict";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { gemm, type GemmLayout } from "../../../src/kernels/products/gemm.ts";
import {
  gemmLayouts,
  type GemmVariant,
  runnableGemmVariants,
} from "../../../src/kernels/products/gemm_variants.ts";
import { onEveryGpu, randomFloats } from "../harness.ts";
import {
  checkAll,
  type Matrix,
  matrix,
  type Product,
  randomProduct,
  rowsOf,
  run,
  variantsOf,
} from "./checked_product.ts";

// lavapipe takes up to seconds to compile a pipeline, so each one here is in use for a reason: a tile
// for few rows and one for many, one for few columns, every layout, every option once.

onEveryGpu("gemm nt at awkward shapes", async (gpu) => {
  for (
    const [rows, columns, depth] of [
      [1, 131, 48],
      [257, 131, 48],
      [16, 30, 4],
      [17, 68, 260],
      [3, 37, 4864],
    ]
  ) await checkAll(gpu, randomProduct("nt", rows, columns, depth));
});

for (const layout of ["nn", "tn"] as const) {
  onEveryGpu(`gemm ${layout} at awkward shapes`, async (gpu) => {
    for (
      const [rows, columns, depth] of [
        [257, 131, 48],
        [19, 36, 1],
        [131, 36, 2],
        [17, 68, 131],
        [18, 37, 4864],
      ]
    ) await checkAll(gpu, randomProduct(layout, rows, columns, depth));
  });
}

const small = [
  ["f16", "nt"],
  ["f16", "nn"],
  ["bf16", "nt"],
  ["bf16", "nn"],
  ["q4", "nt"],
  ["q4k", "nt"],
  ["q8", "nt"],
  ["q8", "nn"],
] as const;
for (const [storage, layout] of small) {
  onEveryGpu(`gemm ${layout} with B in ${storage}`, async (gpu) => {
    await checkAll(gpu, { ...randomProduct(layout, 13, 131, 48), storage });
    // Few rows have a kernel of their own.
    if (layout === "nt") await checkAll(gpu, { ...randomProduct(layout, 3, 131, 192), storage });
  });
}

/**
 * All variants of a layout but tiles; of those, which take up to half a minute to compile, each kind of lane in one
 * layout, with the most lanes: the text is the same but for its numbers.
 */
function someOfEach(gpu: Gpu, layout: GemmLayout): GemmVariant[] {
  const others: GemmVariant[] = [];
  const kinds = new Map<string, GemmVariant>();
  for (const variant of runnableGemmVariants(gpu.tuning, layout)) {
    if (variant.sharing !== "tiled") others.push(variant);
    else kinds.set(`${variant.tile.rm}x${variant.tile.rn}, ${variant.tile.tk}`, variant);
  }
  // From the end, where all layouts have the same.
  const tiles = [...kinds.values()].reverse();
  return [...others, ...tiles.filter((_, i) => i % 3 === 2 - gemmLayouts.indexOf(layout))];
}

onEveryGpu("every variant of gemm has the same bits", async (gpu) => {
  for (const layout of gemmLayouts) {
    // Two slabs and a bit of every tile.
    const depth = layout === "nt" ? 1080 : 52;
    await checkAll(gpu, randomProduct(layout, 17, 68, depth), someOfEach(gpu, layout));
  }
});

onEveryGpu("gemm with bias and residual", async (gpu) => {
  const [bias, residual] = [randomFloats(132, 7, 3), randomFloats(13 * 132, 8, 3)];
  await checkAll(gpu, { ...randomProduct("nt", 13, 131, 48), bias, residual });
});

onEveryGpu("gemm continues the sums that C holds", async (gpu) => {
  const start = randomFloats(37 * 132, 10, 3);
  await checkAll(gpu, { ...randomProduct("tn", 37, 131, 50), start });
  const few = randomFloats(3 * 132, 11, 3);
  await checkAll(gpu, { ...randomProduct("nt", 3, 131, 52), start: few });
});

onEveryGpu("products of few rows in the workgroup memory that WebGPU promises", async (gpu) => {
  const limits = { ...gpu.tuning.limits, workgroupBytes: 16384 };
  const variants = runnableGemmVariants({ ...gpu.tuning, lanes: "gpu", limits }, "nt")
    .filter(({ sharing }) => sharing === "streamed");
  assert.deepEqual(variants.map(({ name }) => name), [
    "streamed, 1x8, 256 terms",
    "streamed, 1x32, 64 terms",
    "streamed, 4x8, 256 terms",
    "streamed, 4x32, 64 terms",
  ]);
  await checkAll(gpu, randomProduct("nt", 3, 68, 600), variants);
});

onEveryGpu("a row of gemm has the same bits alone and in a batch", async (gpu) => {
  const product = randomProduct("nt", 257, 131, 260);
  for (const variant of variantsOf(gpu, product)) {
    const batch = await run(gpu, product, variant);
    for (const [first, count] of [[0, 1], [16, 1], [256, 1], [100, 40]]) {
      const part = { ...product, a: rowsOf(product.a, first, count) };
      const expected = batch.subarray(first * 131, (first + count) * 131);
      assert.deepEqual(await run(gpu, part, variant), expected);
      // Few rows have a variant of their own.
      const [own] = variantsOf(gpu, part);
      assert.deepEqual(await run(gpu, part, own), expected, own.name);
    }
  }
});

onEveryGpu("a weight gradient has the same bits however the tokens are cut", async (gpu) => {
  const whole = randomProduct("tn", 132, 68, 257);
  const zeros = new Float32Array(132 * 68);
  for (const variant of variantsOf(gpu, whole)) {
    const expected = await run(gpu, { ...whole, start: zeros }, variant);
    for (const cut of [100, 1, 256]) {
      let start: Float32Array = zeros;
      for (const [first, count] of [[0, cut], [cut, 257 - cut]]) {
        const [a, b] = [rowsOf(whole.a, first, count), rowsOf(whole.b, first, count)];
        start = await run(gpu, { layout: "tn", a, b, start }, variant);
      }
      assert.deepEqual(start, expected);
    }
  }
});

onEveryGpu("gemm refuses what does not fit", (gpu) => {
  gpu.scope(() => refusals(gpu));
  return Promise.resolve();
});

function refusals(gpu: Gpu): void {
  const tensor = (...shape: number[]) => gpu.tensor(shape);
  const [x, w, y] = [tensor(4, 8), tensor(12, 8), tensor(4, 12)];
  assert.throws(
    () => gemm(gpu, "nt", x, tensor(12, 12), y, { label: "up" }),
    /up: A \[4,8\], B \[12,12\]/,
  );
  assert.throws(() => gemm(gpu, "nn", x, tensor(4, 12), y), /do not fit/);
  assert.throws(() => gemm(gpu, "nt", tensor(4, 6), tensor(12, 6), y), /do not fit/);
  assert.throws(() => gemm(gpu, "nt", x, w, gpu.tensor([4, 12], "bf16")), /C is bf16/);
  assert.throws(() => gemm(gpu, "nt", x, w, y, { bias: tensor(8) }), /bias is f32 \[8\]/);
  assert.throws(
    () => gemm(gpu, "nt", x, w, y, { residual: tensor(4, 8) }),
    /residual is f32 \[4,8\]/,
  );
}

onEveryGpu("gemm on windows of A and C has the bits of the windows by themselves", async (gpu) => {
  const [rows, columns, depth] = [33, 24, 12];
  const wide = matrix(rows, 40, 41),
    b = matrix(columns, depth, 42),
    square = matrix(depth, columns, 43);
  const dy = matrix(rows, columns, 44);
  const window = (first: number, count: number): Matrix => ({
    rows,
    columns: count,
    stride: count,
    data: Float32Array.from(
      { length: rows * count },
      (_, i) => wide.data[Math.floor(i / count) * wide.stride + first + i % count],
    ),
  });
  const [first, target] = [8, 4];
  const a = gpu.from(wide.data, [rows, wide.stride]);
  const cases = [
    { layout: "nt", b, made: rows, product: { layout: "nt", a: window(first, depth), b } },
    {
      layout: "nn",
      b: square,
      made: rows,
      product: { layout: "nn", a: window(first, depth), b: square },
    },
    { layout: "tn", b: dy, made: depth, product: { layout: "tn", a: window(first, depth), b: dy } },
  ] as const;
  for (const { layout, b, made, product } of cases) {
    for (const variant of variantsOf(gpu, product)) {
      const tensors = [gpu.from(b.data, [b.rows, b.stride]), gpu.zeros([made, 36])];
      const windows = { firstColumn: target, firstColumnOfA: first, variant };
      const sizes = layout === "tn" ? {} : { depth };
      gemm(gpu, layout, a, tensors[0], tensors[1], { ...windows, ...sizes, columns, scale: 0.75 });
      const actual = await gpu.readFloats(tensors[1]);
      const expected = await run(gpu, product, variant);
      for (let i = 0; i < made; i++) {
        const row = actual.subarray(i * 36, (i + 1) * 36);
        const own = expected.subarray(i * columns, (i + 1) * columns).map((value) => value * 0.75);
        assert.deepEqual(row.slice(target, target + columns), own, `${layout} ${variant.name}`);
        assert.ok([...row.slice(0, target), ...row.slice(target + columns)].every((x) => x === 0));
      }
      gpu.release(...tensors);
    }
  }
  gpu.release(a);
});

onEveryGpu("a product too long for one launch is cut by rows, with the same bits", async (gpu) => {
  const hurried = await Gpu.open(gpu.info.engine, { submitSeconds: 1e-9 });
  const [rows, depth, columns] = [200, 36, 40];
  const a = matrix(rows, depth, 41), start = randomFloats(rows * columns, 42);
  const products: readonly Product[] = [
    {
      layout: "nt",
      a,
      b: matrix(columns, depth, 43),
      bias: randomFloats(columns, 44),
      residual: start,
    },
    { layout: "nn", a, b: matrix(depth, columns, 45), start },
    { layout: "tn", a: matrix(depth, rows, 46), b: matrix(depth, columns, 47), start },
  ];
  for (const product of products) {
    for (const variant of variantsOf(gpu, product)) {
      assert.deepEqual(await run(hurried, product, variant), await run(gpu, product, variant));
    }
  }
  hurried.close();
});
