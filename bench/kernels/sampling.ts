import { sampleTokens, samplingNeeds, samplingSettings } from "../../src/kernels/sample.ts";
import { logSoftmax, logSoftmaxFinish, logSoftmaxState } from "../../src/kernels/log_softmax.ts";
import { type MakeBenchmark, type Sample, sampleIndices } from "../benchmark.ts";

const unfiltered = { temperature: 1, topK: 0, topP: 1, minP: 0 };
const filtered = { temperature: 0.8, topK: 50, topP: 0.95, minP: 0 };

/** From logits to a token and its log-prob: the softmax statistics, then the draw. */
const makeSamplingWith = (sampling: typeof unfiltered): MakeBenchmark => (bench, { size }) => {
  const { sequences, vocabulary } = size;
  const { gpu } = bench;
  const logits = bench.random([sequences, vocabulary], 4);
  const perSequence = () => bench.zeros([sequences]);
  const statistics = {
    logProbs: perSequence(),
    entropy: perSequence(),
    logSumExp: perSequence(),
  };
  const zeros = () => bench.integers(new Uint32Array(sequences)).tensor;
  const sequenceIds = bench.integers(Uint32Array.from({ length: sequences }, (_, s) => s)).tensor;
  const [targets, positions, tokens] = [zeros(), zeros(), zeros()];
  const logProbs = perSequence();
  const scale = 1 / sampling.temperature;
  const inverseTemperature = gpu.from(new Float32Array(sequences).fill(scale), [sequences]);
  const stream = { seed: 1, stream: 1, step: 0 };
  const slots = Array.from({ length: sequences }, () => ({ ...sampling, ...stream }));
  const words = samplingSettings(slots, sequences, vocabulary);
  const settings = gpu.from(words, [sequences, 8], "u32");
  bench.onRelease(() => gpu.release(inverseTemperature, settings));
  const chunk = { logits: logits.tensor, firstColumn: 0, columns: vocabulary };
  const state = logSoftmaxState(gpu, sequences);
  bench.onRelease(() => gpu.release(state));
  return {
    work: 4 * sequences * vocabulary,
    launch: () => {
      logSoftmax(gpu, chunk, state, { targets, inverseTemperature });
      logSoftmaxFinish(gpu, state, { inverseTemperature }, statistics);
      sampleTokens(
        gpu,
        {
          logits: logits.tensor,
          logSumExp: statistics.logSumExp,
          sequenceIds,
          positions,
          settings,
          inverseTemperature,
        },
        { tokens, logProbs },
        { columns: vocabulary, needs: samplingNeeds([sampling], vocabulary) },
      );
    },
    check: async () => {
      const [drawn, given] = await gpu.readAll([tokens, logProbs]);
      return sampleIndices(sequences, 8).flatMap((s): Sample[] => {
        const row = logits.data.subarray(s * vocabulary, (s + 1) * vocabulary);
        const scaled = Float64Array.from(row, (x) => x * scale);
        const lse = Math.log(scaled.reduce((sum, x) => sum + Math.exp(x), 0));
        const expected = scaled[drawn[s]] - lse;
        const kth = Float32Array.from(row).sort()[vocabulary - (sampling.topK || vocabulary)];
        return [
          { what: `log-prob of row ${s}`, actual: given[s], expected, bound: 2e-5 },
          {
            what: `row ${s}: logit drawn minus that of the last in top-k, if negative`,
            actual: Math.min(0, row[drawn[s]] - kth),
            expected: 0,
            bound: 0,
          },
        ];
      });
    },
  };
};

/** Temperature 1, no filter. */
export const makeSampling = makeSamplingWith(unfiltered);
/** Temperature 0.8, top-k 50, top-p 0.95. */
export const makeSamplingFiltered = makeSamplingWith(filtered);
