import assert from "node:assert/strict";
import { layeredLogits } from "../../../src/engine/sampling/decode_step.ts";
import { DecodeWalk } from "../../../src/engine/sampling/decode_walk.ts";
import { type JoinedCache, KvCache } from "../../../src/engine/sampling/kv_cache.ts";
import type { PlacedSlots } from "../../../src/engine/sampling/slot_state.ts";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Tensor } from "../../../src/gpu/tensor.ts";
import { pageTokens } from "../../../src/kernels/attention/attention_shape.ts";
import {
  decodeState,
  noToken,
  slotsOf,
  stateWords,
} from "../../../src/kernels/sampling/decode_slots.ts";
import {
  type ModelConfig,
  plainDecoder,
  plainExperts,
  wholeHeads,
} from "../../../src/model/decoder/config.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { tinyModel } from "../../model/tiny_model.ts";
import { gpuOf, onEveryGpu, randomFloats } from "../harness.ts";

const pagesOfSlot = 3;

/** Lanes whose slots follow one another; every other time they share a beginning. */
const lanes = 8;
const sharesBeginning = (slot: number) => Math.floor(slot / lanes) % 2 === 1;

/** Keys of a slot, up to three pages; some are not in use. */
function lengthOf(slot: number): number {
  if (sharesBeginning(slot)) return pageTokens + 1 + (slot * 37) % (2 * pageTokens);
  return slot % 5 === 4 ? 0 : 1 + (slot * 37) % (pagesOfSlot * pageTokens);
}

/** Neighbouring pages of a slot lie apart; shared beginnings after those of all slots. */
function pageOf(slot: number, page: number, count: number): number {
  return page === 0 && sharesBeginning(slot)
    ? count * pagesOfSlot + Math.floor(slot / lanes)
    : slot * pagesOfSlot + (page + slot) % pagesOfSlot;
}

/** Pages of so many slots. */
const pagesOf = (count: number) => count * pagesOfSlot + Math.ceil(count / lanes);

function placed(gpu: Gpu, count: number, vocabulary: number): PlacedSlots & { state: Tensor } {
  const state = decodeState(gpu, count);
  const slots = Array.from({ length: count }, (_, s) => {
    const length = lengthOf(s);
    const last = length - 1;
    return {
      // One beyond the vocabulary is embedded as zeros.
      tokens: s % 7 === 6 ? vocabulary + 3 : (s * 11) % vocabulary,
      positions: Math.max(0, last),
      remaining: length > 0 ? 1 : 0,
      keyRows: length === 0
        ? noToken
        : pageOf(s, Math.floor(last / pageTokens), count) * pageTokens + last % pageTokens,
      lengths: length,
    };
  });
  gpu.write(state, stateWords(state, slots));
  const pages = Uint32Array.from(
    { length: count * pagesOfSlot },
    (_, i) => pageOf(Math.floor(i / pagesOfSlot), i % pagesOfSlot, count),
  );
  return {
    ...slotsOf(state, count),
    walks: null,
    pageTables: null,
    pageTable: gpu.from(pages, [count, pagesOfSlot], "u32", "page table"),
  };
}

/** The bits of what a step gives, and of what is in the cache after it. */
async function stepped(
  gpu: Gpu,
  { keys, values }: JoinedCache,
  logits: Tensor,
  step: () => Tensor,
): Promise<Uint32Array[]> {
  for (const [i, tensor] of [keys, values].entries()) {
    gpu.write(tensor, Float32Array.from(randomFloats(tensor.size, 3 + i)));
  }
  gpu.scope(() => gpu.copy(step(), logits));
  const read = await gpu.readAll([logits, keys, values]);
  return read.map(({ buffer }) => new Uint32Array(buffer));
}

/** Compares a step of the model in one launch with that of a launch for each thing. */
async function compare(gpu: Gpu, model: Model, count: number): Promise<void> {
  const { heads, kvHeads, vocabularySize } = model.config;
  const pages = pagesOf(count);
  assert.ok(DecodeWalk.isFor(model, pages), "the walk does not take this model");
  const cache = new KvCache(model, [pages], count, true);
  const { joined } = cache;
  assert.ok(joined);
  const walk = new DecodeWalk(model, joined);
  model.rotations.prepare(pagesOfSlot * pageTokens);
  const slots = placed(gpu, count, vocabularySize);
  const logits = gpu.tensor([count, Math.ceil(vocabularySize / 4) * 4], "f32", "logits");
  try {
    const many = await stepped(gpu, joined, logits, () => layeredLogits(model, cache, slots));
    const one = await stepped(gpu, joined, logits, () => walk.logits(slots));
    ["logits", "keys", "values"].forEach((what, i) => {
      const first = many[i].findIndex((bits, at) => bits !== one[i][at]);
      assert.equal(first, -1, `${heads} of ${kvHeads} heads, ${count} slots: ${what}`);
    });
    // Rows of zeros would be equal too.
    assert.ok(new Set(many[0]).size > count, "the logits are all alike");
  } finally {
    walk.release();
    cache.release();
    gpu.release(slots.state, slots.pageTable, logits);
  }
}

const plain: Partial<ModelConfig> = { architecture: "llama", ...plainDecoder };

/** Shapes with what may go wrong: depths that 8, 4, 2 vectors divide or nothing, several heads or one, few rotated. */
const shapes: readonly {
  readonly config: Partial<ModelConfig>;
  readonly slots: readonly number[];
}[] = [
  // That of the embedded tasks' models; a lane has one slot, or four.
  {
    config: {
      ...{ hiddenSize: 64, intermediateSize: 192, heads: 4, kvHeads: 2, headDim: 16 },
      ...{ vocabularySize: 100, tiedEmbeddings: true, kinds: wholeHeads(16, 10000), ...plain },
    },
    slots: [1, 144],
  },
  {
    config: {
      ...{ hiddenSize: 20, intermediateSize: 12, heads: 7, kvHeads: 1, headDim: 8, layers: 3 },
      ...{ vocabularySize: 33, kinds: wholeHeads(8, 100), ...plain, activation: "gelu" },
    },
    slots: [48],
  },
  {
    config: {
      ...{ hiddenSize: 96, intermediateSize: 48, heads: 4, kvHeads: 4, headDim: 32, layers: 1 },
      ...{ vocabularySize: 71, ...plain, scales: { ...plainDecoder.scales, attention: 0.3 } },
      kinds: [{ rotation: { size: 16, theta: 1000, scaling: null }, window: null }],
    },
    slots: [16],
  },
];

onEveryGpu("a step in one launch gives the bits of one in many", async (gpu) => {
  for (const { config, slots } of shapes) {
    const model = tinyModel(gpu, { config, trained: false });
    try {
      for (const count of slots) await compare(gpu, model, count);
    } finally {
      model.release();
    }
  }
});

Deno.test("models that have something else are decoded by launches", async () => {
  const gpu = await gpuOf("native");
  const experts = { count: 4, chosen: 2, innerSize: 16, normalised: true, ...plainExperts };
  const others: readonly (readonly [string, Partial<ModelConfig>])[] = [
    ["a norm of queries and keys", { qkNorm: true }],
    ["a window", { kinds: [{ ...wholeHeads(8, 10000)[0], window: 16 }] }],
    ["layers of two kinds", { kinds: [...wholeHeads(8, 10000), ...wholeHeads(8, 100)] }],
    ["convolutions", { kinds: [{ ...wholeHeads(8, 10000)[0], taps: 3 }] }],
    ["gated attention", { kinds: [{ ...wholeHeads(8, 10000)[0], gated: true }] }],
    ["experts", { kinds: [{ ...wholeHeads(8, 10000)[0], experts }] }],
    ["biases", { biases: { ...plainDecoder.biases, qkv: true } }],
    ["norms of 1 + weight", { norms: { fromOne: true, after: false } }],
    ["capped scores", { caps: { attention: 20, logits: null } }],
    ["capped logits", { caps: { attention: null, logits: 20 } }],
    ["scaled residuals", { scales: { ...plainDecoder.scales, residual: 0.5 } }],
    ["scaled embeddings", { scales: { ...plainDecoder.scales, embedding: 2 } }],
    ["scaled logits", { scales: { ...plainDecoder.scales, logits: 0.5 } }],
    ["more numbers", { hiddenSize: 512, intermediateSize: 512 }],
  ];
  for (const [what, config] of others) {
    const model = tinyModel(gpu, { config: { ...plain, ...config }, trained: false });
    assert.equal(DecodeWalk.isFor(model, 4), false, what);
    model.release();
  }
  const model = tinyModel(gpu, { config: plain, trained: false });
  assert.equal(DecodeWalk.isFor(model, 4), true);
  assert.equal(DecodeWalk.isFor(model, 2 ** 24), false, "a cache beyond what is bound at once");
  const adapted = model.adapted({
    config: { rank: 4, alpha: 4, targets: ["q_proj"] },
    basePath: "base",
    trained: false,
  });
  assert.equal(DecodeWalk.isFor(adapted, 4), false, "an adapter");
  adapted.release();
  model.release();
});
