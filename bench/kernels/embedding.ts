import {
  embeddingBackward,
  embeddingForward,
  embeddingPlan,
} from "../../src/kernels/layers/embedding.ts";
import { type MakeBenchmark, sampleIndices } from "../benchmark.ts";

/** Backward clears the gradient [vocabulary, width] and adds to it; tokens are sorted once, outside. */
export const makeEmbedding: MakeBenchmark = (bench, { size }, variant) => {
  const { tokens, vocabulary, width } = size;
  const { gpu } = bench;
  const ids = bench.randomIntegers(tokens, vocabulary);
  if (variant === "forward") {
    const weight = bench.random([vocabulary, width]);
    const output = bench.zeros([tokens, width]);
    return {
      work: 8 * tokens * width,
      launch: () =>
        embeddingForward(gpu, [{ firstRow: 0, rows: weight.tensor }], ids.tensor, output),
      check: async () => {
        const result = await gpu.readFloats(output);
        return sampleIndices(tokens * width).map((at) => ({
          what: `output[${at}]`,
          actual: result[at],
          expected: weight.data[ids.data[Math.floor(at / width)] * width + at % width],
          bound: 0,
        }));
      },
    };
  }
  const dy = bench.random([tokens, width]);
  const gradient = bench.zeros([vocabulary, width]);
  const plan = embeddingPlan(gpu, ids.data, vocabulary);
  bench.onRelease(() => gpu.release(plan.positions, plan.tokens, plan.starts));
  return {
    work: 4 * (tokens * width + vocabulary * width),
    launch: () => {
      gpu.clear(gradient);
      embeddingBackward(gpu, dy.tensor, plan, [{ firstRow: 0, rows: gradient }]);
    },
    check: async () => {
      const result = await gpu.readFloats(gradient);
      const used = sampleIndices(tokens * width).map((at) =>
        ids.data[Math.floor(at / width)] * width + at % width
      );
      return [...used, ...sampleIndices(vocabulary * width)].map((at) => {
        const token = Math.floor(at / width);
        let expected = 0;
        ids.data.forEach((id, t) => {
          if (id === token) expected += dy.data[t * width + at % width];
        });
        return { what: `gradient[${at}]`, actual: result[at], expected, bound: 2e-6 };
      });
    },
  };
};
