import { randomFloats } from "./harness.ts";

/** Sequences packed one after the other, with the per-token arrays the kernels take. */
export interface Pack {
  readonly lengths: readonly number[];
  readonly tokens: number;
  readonly start: Uint32Array<ArrayBuffer>;
  readonly end: Uint32Array<ArrayBuffer>;
}

export interface Heads {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly scale: number;
}

export function packOf(lengths: readonly number[]): Pack {
  const tokens = lengths.reduce((sum, length) => sum + length, 0);
  const start = new Uint32Array(tokens);
  const end = new Uint32Array(tokens);
  let first = 0;
  for (const length of lengths) {
    start.fill(first, first, first + length);
    end.fill(first + length, first, first + length);
    first += length;
  }
  return { lengths, tokens, start, end };
}

/** Random inputs; scores of a few units, so that the softmax is neither flat nor one-hot. */
export function randomInputs(tokens: number, { heads, kvHeads, headDim }: Heads, seed: number) {
  return {
    queries: randomFloats(tokens * heads * headDim, seed, 2),
    keys: randomFloats(tokens * kvHeads * headDim, seed + 1, 2),
    values: randomFloats(tokens * kvHeads * headDim, seed + 2),
    outputGradient: randomFloats(tokens * heads * headDim, seed + 3),
  };
}

/** Attention and its gradients in float64, one query at a time, from the definition. */
export function attentionReference(
  { tokens, start }: Pack,
  { heads, kvHeads, headDim, scale }: Heads,
  { queries, keys, values, outputGradient }: ReturnType<typeof randomInputs>,
) {
  const output = new Float64Array(tokens * heads * headDim);
  const logSumExp = new Float64Array(tokens * heads);
  const dQueries = new Float64Array(queries.length);
  const dKeys = new Float64Array(keys.length);
  const dValues = new Float64Array(values.length);
  for (let t = 0; t < tokens; t++) {
    for (let h = 0; h < heads; h++) {
      const q = (t * heads + h) * headDim;
      const count = t - start[t] + 1;
      const row = (j: number) =>
        ((start[t] + j) * kvHeads + Math.floor(h * kvHeads / heads)) * headDim;
      const scores = Array.from({ length: count }, (_, j) => {
        let dot = 0;
        for (let d = 0; d < headDim; d++) dot += queries[q + d] * keys[row(j) + d];
        return dot * scale;
      });
      const max = Math.max(...scores);
      const sum = scores.reduce((total, score) => total + Math.exp(score - max), 0);
      logSumExp[t * heads + h] = max + Math.log(sum);
      const p = scores.map((score) => Math.exp(score - max) / sum);
      const dP = p.map((share, j) => {
        let dot = 0;
        for (let d = 0; d < headDim; d++) {
          output[q + d] += share * values[row(j) + d];
          dot += outputGradient[q + d] * values[row(j) + d];
        }
        return dot;
      });
      const delta = p.reduce((total, share, j) => total + share * dP[j], 0);
      p.forEach((share, j) => {
        const dScore = share * (dP[j] - delta) * scale;
        for (let d = 0; d < headDim; d++) {
          dQueries[q + d] += dScore * keys[row(j) + d];
          dKeys[row(j) + d] += dScore * queries[q + d];
          dValues[row(j) + d] += share * outputGradient[q + d];
        }
      });
    }
  }
  return { output, logSumExp, dQueries, dKeys, dValues };
}

/** @throws Error naming the first element that is not the same number */
export function assertSameBits(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  what: string,
): void {
  if (actual.length !== expected.length) {
    throw new Error(`${what}: ${actual.length} elements, expected ${expected.length}`);
  }
  for (let i = 0; i < expected.length; i++) {
    if (actual[i] !== expected[i]) {
      throw new Error(`${what}: element ${i} is ${actual[i]}, expected exactly ${expected[i]}`);
    }
  }
}
