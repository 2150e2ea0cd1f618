import {
  attendedRows,
  attentionSegments,
  type PrefixGroupLengths,
} from "../../../src/kernels/attention/attention_segments.ts";
import { randomFloats } from "../harness.ts";

/** Packed sequences, some with a common prefix. */
export interface Pack {
  /** The rows of each sequence in the order of its tokens; a shared prefix's rows appear in several. */
  readonly sequences: readonly (readonly number[])[];
  readonly tokens: number;
  /** [T, 4] as the kernels take it */
  readonly segments: Uint32Array<ArrayBuffer>;
  readonly attendedRows: number;
}

export interface Heads {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly scale: number;
  /** Keys that a query sees; all before it where it is left out. */
  readonly window?: number;
  readonly cap?: number;
}

export function packOf(lengths: readonly number[]): Pack {
  return packOfGroups(lengths.map((length) => ({ prefix: 0, continuations: [length] })));
}

export function packOfGroups(groups: readonly PrefixGroupLengths[]): Pack {
  const sequences: number[][] = [];
  let tokens = 0;
  const take = (count: number) => Array.from({ length: count }, () => tokens++);
  for (const { prefix, continuations } of groups) {
    const shared = take(prefix);
    for (const length of continuations) sequences.push([...shared, ...take(length)]);
  }
  return {
    sequences,
    tokens,
    segments: attentionSegments(groups),
    attendedRows: attendedRows(groups),
  };
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
  { tokens, sequences }: Pack,
  { heads, kvHeads, headDim, scale, window = Infinity, cap = Infinity }: Heads,
  { queries, keys, values, outputGradient }: ReturnType<typeof randomInputs>,
) {
  const output = new Float64Array(tokens * heads * headDim);
  const logSumExp = new Float64Array(tokens * heads);
  const dQueries = new Float64Array(queries.length);
  const dKeys = new Float64Array(keys.length);
  const dValues = new Float64Array(values.length);
  for (let t = 0; t < tokens; t++) {
    const rows = sequences.find((sequence) => sequence.includes(t)) ?? [];
    const position = rows.indexOf(t);
    const seen = rows.slice(Math.max(0, position + 1 - window), position + 1);
    for (let h = 0; h < heads; h++) {
      const q = (t * heads + h) * headDim;
      const row = (j: number) => (seen[j] * kvHeads + Math.floor(h * kvHeads / heads)) * headDim;
      const scores = seen.map((_, j) => {
        let dot = 0;
        for (let d = 0; d < headDim; d++) dot += queries[q + d] * keys[row(j) + d];
        return cap === Infinity ? dot * scale : cap * Math.tanh(dot * scale / cap);
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
        const dScore = share * (dP[j] - delta) * scale * (1 - (scores[j] / cap) ** 2);
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

/** The gradients of queries, keys and values in joint rows [T, (H + 2 KV) · D]. */
export function splitHeads(
  joint: Float32Array,
  tokens: number,
  { heads, kvHeads, headDim }: Heads,
) {
  const width = (heads + 2 * kvHeads) * headDim;
  const part = (first: number, count: number) =>
    Float32Array.from(
      { length: tokens * count * headDim },
      (_, i) =>
        joint[Math.floor(i / (count * headDim)) * width + first * headDim + i % (count * headDim)],
    );
  return {
    dQueries: part(0, heads),
    dKeys: part(heads, kvHeads),
    dValues: part(heads + kvHeads, kvHeads),
  };
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
