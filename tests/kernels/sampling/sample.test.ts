import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { UserError } from "../../../src/base/user_error.ts";
import { philox4x32, uniformAt } from "../../../src/random/philox.ts";
import philoxCode from "../../../src/kernels/sampling/parts/philox.wgsl" with { type: "text" };
import {
  decodeState,
  slotsOf,
  stateWords,
  stopArray,
} from "../../../src/kernels/sampling/decode_slots.ts";
import {
  checkSampling,
  sampleTokens,
  samplingNeeds,
  samplingSettings,
  settingsWords,
  type TokenSampling,
} from "../../../src/kernels/sampling/sample.ts";
import {
  inverseTemperature,
  logSoftmax,
  logSoftmaxFinish,
  logSoftmaxState,
  rowScales,
  type VocabularyLanes,
} from "../../../src/kernels/losses/log_softmax.ts";
import { onEveryGpu, randomFloats } from "../harness.ts";

const everything: TokenSampling = { temperature: 1, topK: 0, topP: 1, minP: 0 };
const stream = { seed: 2 ** 40 + 7, stream: 2, step: 3 };

const philoxTest = `${philoxCode}
@group(0) @binding(0) var<storage, read> places: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> words: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> uniforms: array<f32>;
@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let i = id.x;
  words[i] = philox4x32(places[2u * i], places[2u * i + 1u].xy);
  uniforms[i] = philoxUniform(places[2u * i], places[2u * i + 1u].xy);
}`;

onEveryGpu("Philox gives the words that the CPU gives, known answers among them", async (gpu) => {
  const ones = 0xffffffff;
  const places = [
    [0, 0, 0, 0, 0, 0],
    [ones, ones, ones, ones, ones, ones],
    [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0],
    ...Array.from({ length: 253 }, (_, i) => [i, i * 7, 3, i << 20 >>> 0, ~i >>> 0, i * 65537]),
  ];
  const data = Uint32Array.from(places.flatMap((place) => [...place, 0, 0]));
  const tensors = {
    places: gpu.from(data, [data.length]),
    words: gpu.tensor([places.length, 4], "u32"),
    uniforms: gpu.tensor([places.length]),
  };
  gpu.dispatch({ label: "philox test", code: philoxTest }, {}, tensors, [places.length / 8]);
  const [words, uniforms] = await gpu.readAll([tensors.words, tensors.uniforms]);
  assert.deepEqual([...words.subarray(0, 4)], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
  assert.deepEqual([...words.subarray(8, 12)], [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]);
  places.forEach(([a, b, c, d, e, f], i) => {
    const expected = philox4x32([a, b, c, d], [e, f]);
    assert.deepEqual(words.subarray(4 * i, 4 * i + 4), expected);
    assert.equal(uniforms[i], (expected[0] >>> 8) / 2 ** 24);
  });
  gpu.release(...Object.values(tensors));
});

interface Drawn {
  readonly tokens: Uint32Array;
  readonly logProbs: Float32Array;
  /** What the trainer's kernels give for the same tokens. */
  readonly trained: Float32Array;
}

async function draw(
  gpu: Gpu,
  rows: Float32Array,
  columns: number,
  /** One for all slots, or one for each. */
  sampling: TokenSampling | readonly TokenSampling[],
  lanes: VocabularyLanes,
): Promise<Drawn> {
  const slots = rows.length / columns;
  const samplings = Array.isArray(sampling) ? sampling : Array(slots).fill(sampling);
  const stride = Math.ceil(columns / 4) * 4 + 4;
  const padded = new Float32Array(slots * stride).fill(1e30);
  for (let s = 0; s < slots; s++) {
    padded.set(rows.subarray(s * columns, (s + 1) * columns), s * stride);
  }
  const inverses = samplings.map(({ temperature }) => inverseTemperature(temperature));
  const own = samplings.map((one, sequenceId) => ({ ...one, ...stream, sequenceId }));
  const words = samplingSettings(own, slots, columns);
  const made = gpu.scope(() => {
    const logits = gpu.from(padded, [slots, stride]);
    const scale = gpu.from(rowScales(inverses), [slots, 2]);
    const settings = gpu.from(words, [slots, settingsWords], "u32");
    const state = decodeState(gpu, slots);
    const waiting = { tokens: 0, positions: 9, remaining: 2, keyRows: 0, lengths: 10 };
    gpu.write(state, stateWords(state, Array(slots).fill(waiting)));
    const stopWords = stopArray([], slots);
    const inputs = {
      logits,
      settings,
      scales: scale,
      pageTable: gpu.zeros([slots, 1], "u32"),
      stops: gpu.from(stopWords, [stopWords.length], "u32"),
    };
    const window = gpu.tensor([1, slots, 2], "u32");
    const needs = samplingNeeds(samplings, columns);
    const moved = slotsOf(state, slots);
    sampleTokens(gpu, inputs, moved, { window, step: 0 }, { columns, needs, lanes });
    const statistics = logSoftmaxState(gpu, slots);
    const chunk = { logits, firstColumn: 0, columns };
    const targets = moved.tokens;
    logSoftmax(gpu, chunk, statistics, { targets, inverseTemperature: scale, lanes });
    const vector = () => gpu.tensor([slots]);
    const outputs = { logProbs: vector(), entropy: vector(), logSumExp: vector() };
    logSoftmaxFinish(gpu, statistics, { inverseTemperature: scale }, outputs);
    return [window, outputs.logProbs];
  }, (kept) => kept);
  const [drawn, trained] = await gpu.readAll(made);
  gpu.release(...made);
  const floats = new Float32Array(drawn.buffer as ArrayBuffer);
  return {
    tokens: Uint32Array.from({ length: slots }, (_, s) => drawn[2 * s]),
    logProbs: Float32Array.from({ length: slots }, (_, s) => floats[2 * s + 1]),
    trained: trained as Float32Array,
  };
}

/** Masses after the filters, by sorting, in float64; `doubtful` when rounding could decide a filter. */
function filtered(row: Float32Array, sampling: TokenSampling) {
  const { temperature, topK, topP, minP } = sampling;
  const top = row.reduce((a, b) => Math.max(a, b));
  const mass = Array.from(row, (x) => Math.exp((x - top) / temperature));
  const order = [...row.keys()].sort((a, b) => row[b] - row[a]);
  let last = topK > 0 && topK < row.length ? row[order[topK - 1]] : -Infinity;
  let doubtful = false;
  if (topP < 1) {
    const total = mass.reduce((sum, m, i) => row[i] >= last ? sum + m : sum, 0);
    let sum = 0;
    for (const i of order) {
      sum += mass[i];
      if (Math.abs(sum / total - topP) < 1e-5) doubtful = true;
      if (sum >= topP * total) {
        last = Math.max(last, row[i]);
        break;
      }
    }
  }
  const kept = mass.map((m, i) => row[i] >= last && (m >= minP) ? m : 0);
  if (minP > 0 && mass.some((m) => Math.abs(m - minP) < 1e-5 * minP && m < 1)) doubtful = true;
  return { kept, doubtful };
}

/** Checks every token against the inverse CDF in float64; where the draw falls on a boundary, either. */
function checkTokens(
  rows: Float32Array,
  columns: number,
  sampling: TokenSampling,
  drawn: Drawn,
): void {
  let doubts = 0;
  drawn.tokens.forEach((token, s) => {
    const { kept, doubtful } = filtered(rows.subarray(s * columns, (s + 1) * columns), sampling);
    const uniform = uniformAt({ ...stream, sequence: s, position: 10 });
    const goal = uniform * kept.reduce((a, b) => a + b);
    let before = 0;
    for (let i = 0; i < token; i++) before += kept[i];
    // The sums of up to 5000 f32 masses are good to about 1e-5 of the total.
    const slack = 2e-5 * kept.reduce((a, b) => a + b);
    const right = kept[token] > 0 && before - slack <= goal && goal <= before + kept[token] + slack;
    if (!right && doubtful) doubts++;
    else assert.ok(right, `slot ${s} drew ${token}, ${JSON.stringify(sampling)}`);
  });
  assert.ok(doubts <= 1, `${doubts} slots hang on a rounding`);
}

const filters: TokenSampling[] = [
  everything,
  { ...everything, temperature: 0.6 },
  { ...everything, topK: 1 },
  { ...everything, topK: 7 },
  { ...everything, topP: 0.9 },
  { ...everything, topP: 0.001 },
  { ...everything, minP: 0.2 },
  { temperature: 1.3, topK: 20, topP: 0.8, minP: 0.05 },
];

for (const [slots, columns] of [[1, 131], [257, 131], [19, 5000]]) {
  onEveryGpu(`sampling ${slots} slots from ${columns} tokens`, async (gpu) => {
    // Steps of a quarter make ties, also at the filters' edges and of -0 with 0.
    const rows = randomFloats(slots * columns, columns, 4).map((x) => Math.round(x * 4) / 4);
    for (const sampling of filters) {
      const drawn = await draw(gpu, rows, columns, sampling, 1);
      checkTokens(rows, columns, sampling, drawn);
      assert.deepEqual(drawn.logProbs, drawn.trained, "not the trainer's log-probs");
      assert.deepEqual(await draw(gpu, rows, columns, sampling, 128), drawn, "lanes differ");
    }
  });
}

onEveryGpu("temperature 0 takes the likeliest token, the lowest of those that tie", async (gpu) => {
  const rows = randomFloats(64 * 1500, 5, 3).map((x) => Math.round(x));
  for (const lanes of [1, 128] as const) {
    const { tokens, logProbs, trained } = await draw(
      gpu,
      rows,
      1500,
      { ...everything, temperature: 0 },
      lanes,
    );
    tokens.forEach((token, s) => {
      const row = rows.subarray(s * 1500, (s + 1) * 1500);
      assert.equal(token, row.indexOf(row.reduce((a, b) => Math.max(a, b))));
    });
    assert.deepEqual(logProbs, trained);
  }
});

onEveryGpu("tokens come as often as they are likely", async (gpu) => {
  const columns = 12;
  const slots = 20_000;
  const row = randomFloats(columns, 3, 1.5);
  const rows = new Float32Array(slots * columns);
  for (let s = 0; s < slots; s++) rows.set(row, s * columns);
  const { tokens } = await draw(gpu, rows, columns, { ...everything, temperature: 0.8 }, 1);
  const mass = Array.from(row, (x) => Math.exp(x / 0.8));
  const total = mass.reduce((a, b) => a + b);
  const counts = new Array(columns).fill(0);
  for (const token of tokens) counts[token]++;
  // Chi-squared with 11 degrees of freedom exceeds 31.3 with probability 0.001; the seed is fixed.
  const chiSquared = counts.reduce((sum, count, i) => {
    const expected = slots * mass[i] / total;
    return sum + (count - expected) ** 2 / expected;
  }, 0);
  assert.ok(chiSquared < 31.3, `chi-squared ${chiSquared}`);
});

onEveryGpu("logits that are not numbers still give a token of the vocabulary", async (gpu) => {
  for (const lanes of [1, 128] as const) {
    const rows = new Float32Array(9 * 131).fill(NaN);
    const { tokens } = await draw(gpu, rows, 131, { ...everything, topP: 0.9, topK: 3 }, lanes);
    assert.ok(tokens.every((token) => token < 131));
  }
});

onEveryGpu("slots with different settings draw what each draws among its like", async (gpu) => {
  const columns = 1500;
  const slots = 33;
  const rows = randomFloats(slots * columns, 8, 4);
  const kinds: TokenSampling[] = [...filters, { ...everything, temperature: 0 }];
  const mixed = Array.from({ length: slots }, (_, s) => kinds[s % kinds.length]);
  for (const lanes of [1, 128] as const) {
    const together = await draw(gpu, rows, columns, mixed, lanes);
    for (const [k, kind] of kinds.entries()) {
      const alike = await draw(gpu, rows, columns, kind, lanes);
      for (let s = k; s < slots; s += kinds.length) {
        assert.equal(together.tokens[s], alike.tokens[s], `slot ${s}, lanes ${lanes}`);
        assert.equal(together.logProbs[s], alike.logProbs[s], `slot ${s}, lanes ${lanes}`);
      }
    }
  }
});

Deno.test("sampling values out of range are refused", () => {
  const refused: Partial<TokenSampling>[] = [{ temperature: -1 }, { topK: 1.5 }, { topP: 0 }, {
    minP: 2,
  }];
  for (const bad of refused) {
    assert.throws(() => checkSampling({ ...everything, ...bad }), UserError);
  }
});
