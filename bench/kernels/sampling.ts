import { rowScales } from "../../src/kernels/losses/log_softmax.ts";
import {
  sampleTokens,
  samplingNeeds,
  samplingSettings,
  settingsWords,
} from "../../src/kernels/sampling/sample.ts";
import {
  decodeState,
  slotsOf,
  stateWords,
  stopArray,
} from "../../src/kernels/sampling/decode_slots.ts";
import { type MakeBenchmark, sampleIndices, type TimingSample } from "../benchmark.ts";

const unfiltered = { temperature: 1, topK: 0, topP: 1, minP: 0 };
const filtered = { temperature: 0.8, topK: 50, topP: 0.95, minP: 0 };

/** From logits to a token, its log-prob and the next step's state. */
const makeSamplingWith = (sampling: typeof unfiltered): MakeBenchmark => (bench, { size }) => {
  const { sequences, vocabulary: columns } = size;
  const { gpu } = bench;
  const logits = bench.random([sequences, columns], 4);
  const scale = 1 / sampling.temperature;
  const own = { ...sampling, seed: 1, stream: 1, step: 0 };
  const slots = Array.from({ length: sequences }, (_, sequenceId) => ({ ...own, sequenceId }));
  const state = decodeState(gpu, sequences);
  const waiting = { tokens: 0, positions: 0, remaining: 2 ** 31, keyRows: 0, lengths: 1 };
  gpu.write(state, stateWords(state, slots.map(() => waiting)));
  const window = bench.zeros([1, sequences, 2], "u32");
  const inputs = {
    logits: logits.tensor,
    settings: bench.integers(
      samplingSettings(slots, sequences, columns),
      [sequences, settingsWords],
    ).tensor,
    scales: gpu.from(rowScales(new Float64Array(sequences).fill(scale)), [sequences, 2]),
    pageTable: bench.zeros([sequences, 2 ** 12], "u32"),
    stops: bench.integers(stopArray([], sequences)).tensor,
  };
  bench.onRelease(() => gpu.release(inputs.scales, state));
  const options = { columns, needs: samplingNeeds([sampling], columns) };
  return {
    work: 4 * sequences * columns,
    launch: () =>
      sampleTokens(gpu, inputs, slotsOf(state, sequences), { window, step: 0 }, options),
    check: async () => {
      const words = await gpu.read(window);
      const drawn = Array.from({ length: sequences }, (_, s) => words[2 * s]);
      const given = new Float32Array(words.buffer as ArrayBuffer).filter((_, i) => i % 2 === 1);
      return sampleIndices(sequences, 8).flatMap((s): TimingSample[] => {
        const row = logits.data.subarray(s * columns, (s + 1) * columns);
        const scaled = Float64Array.from(row, (x) => x * scale);
        const lse = Math.log(scaled.reduce((sum, x) => sum + Math.exp(x), 0));
        const expected = scaled[drawn[s]] - lse;
        const kth = Float32Array.from(row).sort()[columns - (sampling.topK || columns)];
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
