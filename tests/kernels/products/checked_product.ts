/** Matrix products of every layout and storage, run by a variant and compared with sums in float64. */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { bytesOf, type DataType, type HostArray, isQuantised } from "../../../src/gpu/tensor.ts";
import { gemm, type GemmLayout } from "../../../src/kernels/products/gemm.ts";
import { gemmOperation, type GemmVariant } from "../../../src/kernels/products/gemm_variants.ts";
import { repeated, trialNumbers } from "../../../src/kernels/choice/trial_numbers.ts";
import { assertClose, randomFloats } from "../harness.ts";

const padded = (length: number) => Math.ceil(length / 4) * 4;

/** A row-major matrix whose rows are padded to whole vectors. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly stride: number;
  readonly data: Float32Array;
}

export function matrix(rows: number, columns: number, seed: number, padding = 0): Matrix {
  const stride = padded(columns);
  const data = randomFloats(rows * stride, seed);
  for (let i = 0; i < data.length; i++) if (i % stride >= columns) data[i] = padding;
  return { rows, columns, stride, data };
}

export function rowsOf({ columns, stride, data }: Matrix, first: number, count: number): Matrix {
  return {
    rows: count,
    columns,
    stride,
    data: data.slice(first * stride, (first + count) * stride),
  };
}

const bits = new Uint32Array(1);
const float = new Float32Array(bits.buffer);

/** Host data of a storage type, and the numbers it stands for; of quantised blocks as many others. */
function stored(data: Float32Array, dtype: DataType): [HostArray, Float32Array] {
  if (dtype === "f32") return [data, data];
  if (isQuantised(dtype)) {
    const numbers = trialNumbers(5, dtype);
    const words = Math.ceil(data.length * bytesOf(dtype) / 40) * 10;
    const values = data.map((_, i) => numbers.values[i % numbers.values.length]);
    return [repeated(numbers.stored, words), values];
  }
  if (dtype === "bf16") {
    const words = Uint16Array.from(data, (value) => {
      float[0] = value;
      return bits[0] >>> 16;
    });
    return [
      words,
      Float32Array.from(words, (word) => {
        bits[0] = word << 16;
        return float[0];
      }),
    ];
  }
  const halves = Float16Array.from(data);
  return [new Uint16Array(halves.buffer), Float32Array.from(halves)];
}

export interface Product {
  readonly layout: GemmLayout;
  readonly a: Matrix;
  readonly b: Matrix;
  readonly storage?: DataType;
  readonly bias?: Float32Array;
  readonly residual?: Float32Array;
  /** What C holds when the sums continue from it. */
  readonly start?: Float32Array;
}

function shapeOf({ layout, a, b }: Product) {
  return {
    rows: layout === "tn" ? a.columns : a.rows,
    columns: layout === "nt" ? b.rows : b.columns,
    depth: layout === "tn" ? a.rows : a.columns,
  };
}

export async function run(gpu: Gpu, product: Product, variant: GemmVariant): Promise<Float32Array> {
  const { layout, a, b, storage = "f32", bias, residual, start } = product;
  const { rows, columns, depth } = shapeOf(product);
  const strideC = padded(columns);
  const tensors = {
    a: gpu.from(a.data, [a.rows, a.stride]),
    b: gpu.from(stored(b.data, storage)[0], [b.rows, b.stride], storage),
    // Nothing may be assumed of the memory that receives the result.
    c: gpu.from(start ?? new Float32Array(rows * strideC).fill(NaN), [rows, strideC]),
  };
  const extra = {
    bias: bias && gpu.from(bias, [bias.length]),
    residual: residual && gpu.from(residual, [rows, strideC]),
  };
  const accumulate = start !== undefined;
  const options = {
    ...extra,
    accumulate,
    variant,
    columns,
    depth,
    label: `${layout} ${variant.name}`,
  };
  gemm(gpu, layout, tensors.a, tensors.b, tensors.c, options);
  const padding = await gpu.readFloats(tensors.c);
  gpu.release(...Object.values(tensors), ...Object.values(extra).filter((t) => t !== undefined));
  const result = new Float32Array(rows * columns);
  for (let i = 0; i < rows; i++) {
    result.set(padding.subarray(i * strideC, i * strideC + columns), i * columns);
  }
  return result;
}

/** Compares with float64 sums, each element within its own bound. */
function check(product: Product, actual: Float32Array): void {
  const { layout, a, b, storage = "f32", bias, residual, start } = product;
  const { rows, columns, depth } = shapeOf(product);
  const numbers = stored(b.data, storage)[1];
  const strideC = padded(columns);
  const [errors, zeros] = [new Float64Array(rows * columns), new Float64Array(rows * columns)];
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const at = i * strideC + j;
      let sum = start ? start[at] : 0;
      let magnitude = Math.abs(sum);
      for (let k = 0; k < depth; k++) {
        const left = layout === "tn" ? a.data[k * a.stride + i] : a.data[i * a.stride + k];
        const right = layout === "nt" ? numbers[j * b.stride + k] : numbers[k * b.stride + j];
        sum += left * right;
        magnitude += Math.abs(left * right);
      }
      if (bias) sum += bias[j];
      if (residual) sum += residual[at];
      magnitude += Math.abs(bias?.[j] ?? 0) + Math.abs(residual?.[at] ?? 0);
      const bound = 4 * Math.sqrt(depth + 3) * 2 ** -24 * magnitude;
      errors[i * columns + j] = (actual[i * columns + j] - sum) / bound;
    }
  }
  assertClose(errors, zeros, {
    absolute: 1,
    relative: 0,
    why:
      "roundings of K terms add up like a random walk: 4 √K half-ulps of the sum of magnitudes, " +
      "less than one term of it",
  });
}

/** What this device takes for a product, and what a GPU's lanes take; of all of them, each costs seconds to compile. */
export function variantsOf(gpu: Gpu, product: Product): GemmVariant[] {
  const shape = { layout: product.layout, storage: "f32", ...shapeOf(product) } as const;
  const tunings = [gpu.tuning, { ...gpu.tuning, lanes: "gpu" } as const];
  return [...new Set(tunings.map((tuning) => gemmOperation.variantsFor(tuning, shape)[0]))];
}

/** Variants give the right numbers, and the same bits. */
export async function checkAll(
  gpu: Gpu,
  product: Product,
  [first, ...others] = variantsOf(gpu, product),
): Promise<void> {
  const expected = await run(gpu, product, first);
  check(product, expected);
  for (const variant of others) {
    assert.deepEqual(await run(gpu, product, variant), expected, variant.name);
  }
}

export function randomProduct(
  layout: GemmLayout,
  rows: number,
  columns: number,
  depth: number,
): Product {
  const seed = rows + columns + depth;
  const a = layout === "tn" ? matrix(depth, rows, seed) : matrix(rows, depth, seed);
  // What lies in the padding columns of B must not reach any result.
  const b = layout === "nt"
    ? matrix(columns, depth, seed + 1)
    : matrix(depth, columns, seed + 1, NaN);
  return { layout, a, b };
}
