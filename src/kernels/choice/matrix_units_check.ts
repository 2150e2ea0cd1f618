/** Whether a device's matrix units can be trusted: asked once where a run may take them or leave them. */

import type { Gpu } from "../../gpu/gpu.ts";
import { type MatrixFactor, multipliesHalves } from "../../gpu/tuning.ts";
import { RandomStream } from "../../random/philox.ts";
import { gemm, type GemmLayout } from "../products/gemm.ts";
import { faultInBits } from "./same_bits.ts";
import { repeated, trialNumbers } from "./trial_numbers.ts";

/** Columns that no tile divides, and a depth that blocks of weights divide. */
const shape = { columns: 136, depth: 320 } as const;

/** The second factor: trained weights, and frozen ones as files have them. */
const factors = [["nt", "f32"], ["nn", "f32"], ["nt", "bf16"], ["nn", "bf16"], [
  "nt",
  "q4k",
]] as const;

/** So few that the product itself makes them f16, as in decoding, and so many that a launch before it does. */
const rowCounts = [5, 69] as const;

/**
 * A product loses as much, at most, as a share of its terms' magnitudes: its factors two roundings to 11 bits where they
 * become f16, and the sums a rounding of f32 for each term and each product.
 */
const lost: Record<MatrixFactor, number> = {
  f16: 2 ** -10 + shape.depth * 2 ** -23,
  f32: shape.depth * 2 ** -23,
};

/**
 * What is wrong with products on this device's matrix units: sums that are not those in float64, other bits for a row
 * alone than for one of many, or for a gradient in one launch than in several.
 *
 * @param gpu opened with a precision that takes them
 * @returns null where nothing is
 */
export async function faultOnMatrixUnits(gpu: Gpu): Promise<string | null> {
  try {
    return await faultInNumbers(gpu);
  } catch (error) {
    // A driver that does not compile these kernels, or gives out at them.
    return error instanceof Error ? error.message : `${error}`;
  }
}

async function faultInNumbers(gpu: Gpu): Promise<string | null> {
  const { columns, depth } = shape;
  const random = new RandomStream(7, 99);
  const factor = multipliesHalves(gpu.tuning) ? "f16" : "f32";
  for (const rows of rowCounts) {
    for (const [layout, type] of factors) {
      const { stored, values } = trialNumbers(rows, type);
      const right = Float32Array.from(
        { length: columns * depth },
        (_, i) => values[i % values.length],
      );
      const left = Float32Array.from({ length: rows * depth }, (_, at) => {
        const row = Math.floor(at / depth), drawn = 2 * random.uniform() - 1;
        // Of each second row one sum has positive terms alone: none that is missing or scaled wrongly hides behind others.
        const along = right[placeIn(layout, row % columns, at % depth)];
        const value = row % 2 === 0 ? Math.abs(drawn) * Math.sign(along) : drawn;
        // As of gradients, each row has a size of its own.
        return value * 2 ** -(7 * row % 20);
      });
      using steps = gpu.steps();
      const [product] = steps.run(() => {
        const a = gpu.from(left, [rows, depth]);
        const b = gpu.tensor(layout === "nt" ? [columns, depth] : [depth, columns], type);
        const c = gpu.tensor([rows, columns]);
        gpu.write(b, repeated(stored, b.hostLength));
        gemm(gpu, layout, a, b, c, { label: "matrix units" });
        return [c];
      });
      const fault = faultInProduct(layout, left, right, await gpu.readFloats(product), factor);
      if (fault !== null) return `${fault}, weights in ${type}`;
    }
  }
  return await faultInBits(gpu);
}

/** Where the second factor has the k-th term of a column. */
function placeIn(layout: Exclude<GemmLayout, "tn">, column: number, k: number): number {
  return layout === "nt" ? column * shape.depth + k : k * shape.columns + column;
}

/**
 * The first element that is further from its sum in float64 than rounding takes it.
 *
 * @param left [rows, depth]
 * @param right nt: [columns, depth]; nn: [depth, columns]
 * @param found [rows, columns]
 * @param factor what the matrix units take
 */
export function faultInProduct(
  layout: Exclude<GemmLayout, "tn">,
  left: Float32Array,
  right: Float32Array,
  found: Float32Array,
  factor: MatrixFactor,
): string | null {
  const { columns, depth } = shape;
  for (let row = 0; row < left.length / depth; row++) {
    for (let column = 0; column < columns; column++) {
      let sum = 0, magnitudes = 0;
      for (let k = 0; k < depth; k++) {
        const term = left[row * depth + k] * right[placeIn(layout, column, k)];
        sum += term;
        magnitudes += Math.abs(term);
      }
      const value = found[row * columns + column];
      // What is not a number is not within any bound.
      if (Math.abs(value - sum) <= magnitudes * lost[factor]) continue;
      return `a matrix product (${layout}) has ${value} where ${sum} is right`;
    }
  }
  return null;
}
