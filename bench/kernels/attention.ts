import { attentionBackward, attentionForward } from "../../src/kernels/attention/attention.ts";
import { attentionSegments } from "../../src/kernels/attention/attention_segments.ts";
import { dot, type MakeBenchmark, sampleIndices, type TimingSample } from "../benchmark.ts";

/** Softmax weights and sums of up to 512 values of size 1. */
const forwardBound = 5e-6;
/** Gradients are of size 1 and sums of a few terms each, some of which cancel. */
const backwardBound = 5e-5;

/** Causal grouped-query attention over packed sequences. */
export const makeAttention: MakeBenchmark = (bench, { size, lengths }, variant) => {
  const { heads, kvHeads, headDim } = size;
  const { gpu } = bench;
  const tokens = lengths.reduce((sum, length) => sum + length, 0);
  const starts = lengths.map((_, i) => lengths.slice(0, i).reduce((sum, n) => sum + n, 0));
  const firstOf = lengths.flatMap((length, i) => new Array<number>(length).fill(starts[i]));
  const groups = lengths.map((length) => ({ prefix: 0, continuations: [length] }));
  const segments = bench.integers(attentionSegments(groups), [tokens, 4]);
  const q = bench.random([tokens, heads, headDim]);
  const [k, v] = [
    bench.random([tokens, kvHeads, headDim]),
    bench.random([tokens, kvHeads, headDim]),
  ];
  const output = bench.zeros([tokens, heads, headDim]);
  const statistics = bench.zeros([2, tokens, heads]);
  const scale = 1 / Math.sqrt(headDim);
  const shape = { heads, kvHeads, headDim, scale };
  const pairs = lengths.reduce((sum, length) => sum + length * (length + 1) / 2, 0);
  const inputs = {
    queries: q.tensor,
    keys: k.tensor,
    values: v.tensor,
    segments: segments.tensor,
    attendedRows: pairs,
  };

  const group = heads / kvHeads;
  const queryAt = (t: number, head: number) => (t * heads + head) * headDim;
  const keyAt = (t: number, head: number) => (t * kvHeads + Math.floor(head / group)) * headDim;
  /** Attention weights of one query: of its sequence's tokens up to its own. */
  const weights = (t: number, head: number): Float64Array => {
    const first = firstOf[t];
    const logits = Float64Array.from({ length: t - first + 1 }, (_, i) => {
      const [a, b] = [queryAt(t, head), keyAt(first + i, head)];
      return scale * dot(headDim, (d) => q.data[a + d], (d) => k.data[b + d]).sum;
    });
    const largest = logits.reduce((a, b) => Math.max(a, b));
    const powers = logits.map((x) => Math.exp(x - largest));
    const total = powers.reduce((a, b) => a + b);
    return powers.map((x) => x / total);
  };
  const outputOf = (t: number, head: number, d: number) =>
    weights(t, head).reduce(
      (sum, weight, i) => sum + weight * v.data[keyAt(firstOf[t] + i, head) + d],
      0,
    );
  const forward = () => attentionForward(gpu, inputs, { output, statistics }, shape);
  if (variant === "forward") {
    return {
      work: 4 * heads * headDim * pairs,
      launch: forward,
      check: async () => {
        const result = await gpu.readFloats(output);
        return sampleIndices(result.length, 12).map((at) => {
          const [t, head, d] = place(at, heads, headDim);
          const expected = outputOf(t, head, d);
          return { what: `output[${at}]`, actual: result[at], expected, bound: forwardBound };
        });
      },
    };
  }

  forward();
  const dy = bench.random([tokens, heads, headDim]);
  const units = heads + 2 * kvHeads;
  const dQkv = bench.zeros([tokens, units * headDim]);
  const given = {
    ...inputs,
    output,
    statistics,
    outputGradient: dy.tensor,
  };
  /** Gradients of the scaled logits of one query. */
  const logitGradients = (t: number, head: number, p: Float64Array) => {
    const dP = p.map((_, i) => {
      const [a, b] = [queryAt(t, head), keyAt(firstOf[t] + i, head)];
      return dot(headDim, (d) => dy.data[a + d], (d) => v.data[b + d]).sum;
    });
    const mean = dot(p.length, (i) => p[i], (i) => dP[i]).sum;
    return p.map((weight, i) => weight * (dP[i] - mean));
  };
  return {
    work: 10 * heads * headDim * pairs,
    launch: () => attentionBackward(gpu, given, dQkv, shape),
    check: async () => {
      const gradients = await gpu.readFloats(dQkv);
      const sample = (what: string, actual: number, expected: number): TimingSample => ({
        what,
        actual,
        expected,
        bound: backwardBound,
      });
      const samples = sampleIndices(tokens * heads * headDim, 8).map((at) => {
        const [t, head, d] = place(at, heads, headDim);
        const dS = logitGradients(t, head, weights(t, head));
        const first = firstOf[t];
        const { sum } = dot(dS.length, (i) => dS[i], (i) => k.data[keyAt(first + i, head) + d]);
        return sample(`dQueries[${at}]`, gradients[(t * units + head) * headDim + d], scale * sum);
      });
      // Keys near their sequence's end, which few queries see: the reference is quadratic.
      for (const sequence of [0, lengths.length - 1]) {
        const last = starts[sequence] + lengths[sequence] - 1;
        for (const t of [last, Math.max(starts[sequence], last - 5)]) {
          const [kvHead, d] = [kvHeads - 1, t % headDim];
          let [dK, dV] = [0, 0];
          for (let query = t; query <= last; query++) {
            for (let head = kvHead * group; head < (kvHead + 1) * group; head++) {
              const p = weights(query, head);
              const own = t - firstOf[query];
              dK += scale * logitGradients(query, head, p)[own] * q.data[queryAt(query, head) + d];
              dV += p[own] * dy.data[queryAt(query, head) + d];
            }
          }
          const at = (t * kvHeads + kvHead) * headDim + d;
          const ofKey = (t * units + heads + kvHead) * headDim + d;
          samples.push(sample(`dKeys[${at}]`, gradients[ofKey], dK));
          samples.push(sample(`dValues[${at}]`, gradients[ofKey + kvHeads * headDim], dV));
        }
      }
      return samples;
    },
  };
};

function place(at: number, heads: number, headDim: number): [t: number, head: number, d: number] {
  return [Math.floor(at / headDim / heads), Math.floor(at / headDim) % heads, at % headDim];
}
