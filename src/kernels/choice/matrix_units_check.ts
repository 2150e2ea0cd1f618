/** Whether a device's matrix units can be trusted: asked once where a run may take them or leave them. */

import type { Gpu } from "../../gpu/gpu.ts";
import { RandomStream } from "../../random/philox.ts";
import { gemm, type GemmLayout } from "../products/gemm.ts";
import { faultInBits } from "./same_bits.ts";

/** Columns that no tile divides, and a depth with a last slab that is not full. */
const shape = { columns: 136, depth: 324 } as const;

/** So few that the product itself makes them f16, as in decoding, and so many that a launch before it does. */
const rowCounts = [5, 69] as const;

/**
 * A product's factors lose as much of it, at most: two roundings to 11 bits, and the rounding of f32 with each term,
 * as a share of the terms' magnitudes.
 */
const lost = 2 ** -10 + shape.depth * 2 ** -24;

/**
 * What is wrong with products on this device's matrix units: sums that are not those in float64, or other bits for a
 * row alone than for one of many.
 *
 * @param gpu opened with a precision that takes them
 * @returns null where nothing is
 */
export async function faultOnMatrixUnits(gpu: Gpu): Promise<string | null> {
  const { columns, depth } = shape;
  const random = new RandomStream(7, 99);
  const draw = (count: number) => Float32Array.from({ length: count }, () => random.uniform());
  const right = draw(columns * depth);
  for (const rows of rowCounts) {
    const left = draw(rows * depth);
    for (const at of left.keys()) {
      const row = Math.floor(at / depth);
      // Where all terms are positive, one that is missing or scaled wrongly cannot hide behind the others.
      if (row % 2 === 1) left[at] = 2 * left[at] - 1;
      // As gradients are, of other sizes in each row.
      left[at] *= 2 ** -(7 * row % 20);
    }
    for (const layout of ["nt", "nn"] as const) {
      using steps = gpu.steps();
      const [product] = steps.run(() => {
        const a = gpu.from(left, [rows, depth]);
        const b = gpu.from(right, layout === "nt" ? [columns, depth] : [depth, columns]);
        const c = gpu.tensor([rows, columns]);
        gemm(gpu, layout, a, b, c, { label: "matrix units" });
        return [c];
      });
      const fault = faultInProduct(layout, left, right, await gpu.readFloats(product));
      if (fault !== null) return fault;
    }
  }
  return await faultInBits(gpu);
}

/**
 * The first element that is further from its sum in float64 than rounding takes it.
 *
 * @param left [rows, depth]
 * @param right nt: [columns, depth]; nn: [depth, columns]
 * @param found [rows, columns]
 */
export function faultInProduct(
  layout: Exclude<GemmLayout, "tn">,
  left: Float32Array,
  right: Float32Array,
  found: Float32Array,
): string | null {
  const { columns, depth } = shape;
  for (let row = 0; row < left.length / depth; row++) {
    for (let column = 0; column < columns; column++) {
      let sum = 0, magnitudes = 0;
      for (let k = 0; k < depth; k++) {
        const at = layout === "nt" ? column * depth + k : k * columns + column;
        const term = left[row * depth + k] * right[at];
        sum += term;
        magnitudes += Math.abs(term);
      }
      const value = found[row * columns + column];
      // What is not a number is not within any bound.
      if (Math.abs(value - sum) <= magnitudes * lost) continue;
      return `a matrix product (${layout}) has ${value} where ${sum} is right`;
    }
  }
  return null;
}
