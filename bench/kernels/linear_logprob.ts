import { plainDecoder, wholeHeads } from "../../src/model/decoder/config.ts";
import { headBackward, headForward, type HeadOutput } from "../../src/model/decoder/head.ts";
import { Model } from "../../src/model/decoder/model.ts";
import { dot, type MakeBenchmark, sampleIndices, type TimingSample } from "../benchmark.ts";

/** The last linear layer with log-prob and entropy of its targets, as the model runs it. */
export const makeLinearLogprob: MakeBenchmark = (bench, { size }, variant) => {
  const { rows, width, vocabulary } = size;
  const { gpu } = bench;
  const model = Model.create(gpu, {
    architecture: "llama",
    vocabularySize: vocabulary,
    hiddenSize: width,
    intermediateSize: 4,
    layers: 0,
    heads: 1,
    kvHeads: 1,
    headDim: 8,
    normEpsilon: 1e-6,
    kinds: wholeHeads(8, 10000),
    tiedEmbeddings: true,
    ...plainDecoder,
    maxPositions: 1,
  }, { trained: variant === "backward" });
  bench.onRelease(() => model.release());
  const weight = bench.random([vocabulary, width], 1 / Math.sqrt(width));
  for (const { firstRow, weight: tile } of model.head) {
    gpu.copy(weight.tensor.view(firstRow * width, tile.shape), tile);
  }
  const hidden = bench.random([rows, width], 2);
  const targets = bench.randomIntegers(rows, vocabulary);
  const [gLogProb, gEntropy] = [bench.random([rows]), bench.random([rows])];

  /** log p of every token of one row, and the entropy. */
  const distribution = (t: number) => {
    const logits = Float64Array.from(
      { length: vocabulary },
      (_, j) =>
        dot(width, (i) => hidden.data[t * width + i], (i) => weight.data[j * width + i]).sum,
    );
    const largest = logits.reduce((a, b) => Math.max(a, b));
    const lse = largest + Math.log(logits.reduce((sum, x) => sum + Math.exp(x - largest), 0));
    const logP = logits.map((x) => x - lse);
    return { logP, entropy: -logP.reduce((sum, x) => sum + Math.exp(x) * x, 0) };
  };
  const work = 2 * rows * width * vocabulary;
  const releaseOutput = ({ logProbs, entropy, logSumExp }: HeadOutput) =>
    gpu.release(logProbs, entropy, logSumExp);
  let output = headForward(model, hidden.tensor, targets.tensor, 1);
  bench.onRelease(() => releaseOutput(output));
  if (variant === "forward") {
    return {
      work,
      launch: () => {
        releaseOutput(output);
        output = headForward(model, hidden.tensor, targets.tensor, 1);
      },
      check: async () => {
        const [logProbs, entropies] = await gpu.readAll([output.logProbs, output.entropy]);
        return sampleIndices(rows, 3).flatMap((t): TimingSample[] => {
          const { logP, entropy } = distribution(t);
          const expected = logP[targets.data[t]];
          return [
            { what: `logProb[${t}]`, actual: logProbs[t], expected, bound: 2e-5 },
            { what: `entropy[${t}]`, actual: entropies[t], expected: entropy, bound: 2e-5 },
          ];
        });
      },
    };
  }
  const backward = () =>
    headBackward(
      model,
      hidden.tensor,
      targets.tensor,
      1,
      output,
      gLogProb.tensor,
      gEntropy.tensor,
      null,
    );
  let dHidden = bench.gpu.zeros([rows, width]);
  bench.onRelease(() => gpu.release(dHidden));
  return {
    work: 3 * work,
    launch: () => {
      gpu.release(dHidden);
      dHidden = backward();
    },
    check: async () => {
      const result = await gpu.readFloats(dHidden);
      return sampleIndices(rows, 3).map((t) => {
        const { logP, entropy } = distribution(t);
        const i = t % width;
        const gradient = (j: number) => {
          const p = Math.exp(logP[j]);
          const own = j === targets.data[t] ? 1 : 0;
          return gLogProb.data[t] * (own - p) - gEntropy.data[t] * p * (logP[j] + entropy);
        };
        const { sum } = dot(vocabulary, gradient, (j) => weight.data[j * width + i]);
        return {
          what: `dHidden[${t}, ${i}]`,
          actual: result[t * width + i],
          expected: sum,
          bound: 2e-5,
        };
      });
    },
  };
};
