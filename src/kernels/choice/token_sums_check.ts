/** Whether a device's matrix units sum gradients over tokens rightly: part of `requireSameBits`. */

import type { Gpu } from "../../gpu/gpu.ts";
import { RandomStream } from "../../random/philox.ts";
import { gemm } from "../products/gemm.ts";
import { type GemmVariant, runsVariants } from "../products/gemm_variants.ts";
import { largestOfRuns, tokenRuns } from "../products/token_runs.ts";

/** Rows and columns that no tile divides. */
const rows = 44, columns = 136;

/** Tokens of runs, which blocks do not divide, and the sizes of their gradients and of what they belong to. */
const runs = [
  { tokens: 37, ofA: 1e-7, ofB: 3 },
  { tokens: 70, ofA: 1e-4, ofB: 0.02 },
  { tokens: 9, ofA: 1e-2, ofB: 500 },
] as const;

/** A run's factors. */
interface Factors {
  readonly tokens: number;
  /** [tokens, rows] */
  readonly a: Float32Array;
  /** [tokens, columns] */
  readonly b: Float32Array;
}

/** What is wrong with sums over tokens; null where nothing is, or where they are chains. */
export async function faultInTokenSums(gpu: Gpu): Promise<string | null> {
  if (gpu.tuning.bits !== "mma") return null;
  const random = new RandomStream(8, 99);
  const drawn = (count: number, size: number) =>
    Float32Array.from({ length: count }, () => size * (2 * random.uniform() - 1));
  const factors = runs.map(({ tokens, ofA, ofB }): Factors => ({
    tokens,
    a: drawn(tokens * rows, ofA),
    b: drawn(tokens * columns, ofB),
  }));
  const tiles = runsVariants(gpu.tuning, rows, columns);
  const first = tiles[0], last = tiles[tiles.length - 1];
  const none = new Float32Array(rows * columns);
  for (const run of factors) {
    const fault = faultInRun(run, await sums(gpu, none, [[run]], first));
    if (fault !== null) return fault;
  }
  const before = drawn(rows * columns, 1);
  const zeros = { tokens: 20, a: new Float32Array(20 * rows), b: drawn(20 * columns, 1e3) };
  const together = bitsOf(
    await sums(gpu, before, [[factors[0], zeros, ...factors.slice(1)]], first),
  );
  const byOne = bitsOf(await sums(gpu, before, factors.map((run) => [run]), last));
  return together.every((bits, i) => bits === byOne[i])
    ? null
    : "a gradient summed over tokens has other bits in one launch than in several";
}

const bitsOf = ({ buffer }: Float32Array) => new Uint32Array(buffer);

/** Adds gradients to those of weights [rows, columns], each launch those of some runs. */
async function sums(
  gpu: Gpu,
  before: Float32Array,
  launches: readonly (readonly Factors[])[],
  variant: GemmVariant,
): Promise<Float32Array> {
  using steps = gpu.steps();
  const [gradient] = steps.run(() => {
    const gradient = gpu.from(before, [rows, columns]);
    for (const launch of launches) {
      const starts: number[] = [];
      let tokens = 0;
      for (const run of launch) {
        starts.push(tokens);
        tokens += run.tokens;
      }
      const joined = (key: "a" | "b", width: number) =>
        gpu.from(Float32Array.from(launch.flatMap((run) => [...run[key]])), [tokens, width]);
      const a = joined("a", rows), b = joined("b", columns);
      const runs = tokenRuns(gpu, starts, tokens);
      gemm(gpu, "tn", a, b, gradient, {
        label: "matrix units",
        accumulate: true,
        variant,
        runs: runs && {
          runs,
          largestA: largestOfRuns(gpu, runs, [a]),
          largestB: largestOfRuns(gpu, runs, [b]),
          headroom: 0,
        },
      });
    }
    return [gradient];
  });
  return await gpu.readFloats(gradient);
}

/** The first element of a run's sums that is further from float64 than rounding takes it. */
export function faultInRun({ tokens, a, b }: Factors, found: Float32Array): string | null {
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let sum = 0, magnitudes = 0;
      for (let t = 0; t < tokens; t++) {
        const term = a[t * rows + row] * b[t * columns + column];
        sum += term;
        magnitudes += Math.abs(term);
      }
      const value = found[row * columns + column];
      // Two factors rounded to 11 bits, and a rounding of f32 with each term. What is not a number is within no bound.
      if (Math.abs(value - sum) <= magnitudes * (2 ** -10 + tokens * 2 ** -24)) continue;
      return `a gradient summed over tokens has ${value} where ${sum} is right`;
    }
  }
  return null;
}
