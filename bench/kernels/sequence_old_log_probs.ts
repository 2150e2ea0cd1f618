import { sequenceOldLogProbs } from "../../src/kernels/losses/sequence_old_log_probs.ts";
import { type MakeBenchmark, sampleIndices, sumBound } from "../benchmark.ts";

/** The ratio of each of many sequences of equal length. */
export const makeSequenceOldLogProbs: MakeBenchmark = (bench, { size: { sequences, tokens } }) => {
  const { gpu } = bench;
  const rows = sequences * tokens;
  const [logProbs, oldLogProbs] = [bench.random([rows], 3), bench.random([rows], 3)];
  const starts = bench.integers(Uint32Array.from({ length: sequences + 1 }, (_, s) => s * tokens));
  const adjusted = bench.zeros([rows]);
  return {
    work: 16 * rows,
    launch: () =>
      sequenceOldLogProbs(gpu, logProbs.tensor, oldLogProbs.tensor, starts.tensor, adjusted),
    check: async () => {
      const result = await gpu.readFloats(adjusted);
      return sampleIndices(rows).map((at) => {
        const first = Math.floor(at / tokens) * tokens;
        let mean = 0;
        for (let row = first; row < first + tokens; row++) {
          mean += (logProbs.data[row] - oldLogProbs.data[row]) / tokens;
        }
        const expected = logProbs.data[at] - mean;
        return {
          what: `adjusted[${at}]`,
          actual: result[at],
          expected,
          bound: sumBound(tokens, 6),
        };
      });
    },
  };
};
