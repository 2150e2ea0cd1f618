import type { Gpu } from "../../gpu/gpu.ts";
import type { Trial, Trials } from "../../gpu/measure_variants.ts";
import type { BitClass } from "../../gpu/tuning.ts";
import { gemm } from "../products/gemm.ts";
import { gemmTexts } from "../products/gemm_launch.ts";
import { gemmOperation, type GemmShape, type GemmVariant } from "../products/gemm_variants.ts";
import { repeated, trialNumbers } from "./trial_numbers.ts";

/** Largest product tried, by what executes the lanes: it takes some hundredths of a second and stays in its class. */
const largest = {
  cpu: { rows: 288, columns: 1280, depth: 2304 },
  gpu: { rows: 1024, columns: 8192, depth: 4096 },
};

/** Relative error of a product from rounding its factors: 11 bits of each are kept, or 21 in two parts. */
const lostOfFactors: Record<BitClass, number> = {
  "chain": 0,
  "mma": 2 ** -10,
  "mma-pair": 2 ** -19,
  "mma-f32": 0,
};

/** Elements of C that are compared with sums in float64. */
const comparedElements = 24;

/** How the variants of matrix products are tried. */
export const gemmTrials: Trials<GemmShape, GemmVariant> = {
  operation: gemmOperation,
  texts: gemmTexts,
  prepare(gpu, shape) {
    const most = largest[gpu.tuning.lanes];
    const whole = (length: number) => Math.ceil(length / 4) * 4;
    const rows = Math.min(shape.rows, most.rows);
    const variants = gemmOperation.variantsFor(gpu.tuning, shape);
    return prepare(gpu, variants, {
      ...shape,
      rows: shape.layout === "tn" ? whole(rows) : rows,
      columns: whole(Math.min(shape.columns, most.columns)),
      depth: whole(Math.min(shape.depth, most.depth)),
    });
  },
};

/** Sizes in whole vectors but for the rows of nt and nn. */
function prepare(
  gpu: Gpu,
  variants: readonly GemmVariant[],
  shape: GemmShape,
): Trial<GemmVariant> {
  const { layout, storage, rows, columns, depth } = shape;
  const left = trialNumbers(1, "f32"), right = trialNumbers(2, storage);
  const shapeA = layout === "tn" ? [depth, rows] : [rows, depth];
  const shapeB = layout === "nt" ? [columns, depth] : [depth, columns];
  const a = gpu.tensor(shapeA, "f32", "trial A");
  const b = gpu.tensor(shapeB, storage, "trial B");
  gpu.write(a, repeated(left.stored, a.hostLength));
  gpu.write(b, repeated(right.stored, b.hostLength));
  const output = gpu.tensor([rows, columns], "f32", "trial C");
  const label = `gemm ${layout} trial`;
  return {
    shape: `${rows}x${columns}x${depth}`,
    variants,
    output,
    launch: (variant) => gemm(gpu, layout, a, b, output, { label, variant }),
    fault(found) {
      for (let n = 0; n < comparedElements; n++) {
        // Steps that share no factor with most sizes reach all corners of C.
        const [i, j] = [(n * 7919) % rows, (n * 104729) % columns];
        let sum = 0, magnitude = 0;
        for (let k = 0; k < depth; k++) {
          const atA = layout === "tn" ? k * rows + i : i * depth + k;
          const atB = layout === "nt" ? j * depth + k : k * columns + j;
          const term = left.values[atA % left.values.length] *
            right.values[atB % right.values.length];
          sum += term;
          magnitude += Math.abs(term);
        }
        const own = found[i * columns + j];
        // The bound: a rounding for each term, of half an ulp of the sum of magnitudes at most, and those of factors.
        const bound = (depth * 2 ** -24 + lostOfFactors[gpu.tuning.bits]) * magnitude;
        if (!(Math.abs(own - sum) <= bound)) {
          return `C[${i}, ${j}] is ${own}, expected ${sum}`;
        }
      }
      return null;
    },
    release: () => gpu.release(a, b, output),
  };
}
