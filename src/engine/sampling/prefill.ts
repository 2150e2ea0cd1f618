import type { Tensor } from "../../gpu/tensor.ts";
import { noToken } from "../../kernels/sampling/decode_slots.ts";
import { attentionPaged } from "../../kernels/attention/attention.ts";
import { pagedSegments } from "../../kernels/attention/attention_segments.ts";
import { cacheCopy } from "../../kernels/attention/cache_copy.ts";
import { ropeForward } from "../../kernels/attention/rope.ts";
import {
  attentionShape,
  embed,
  layerForward,
  layerQkv,
  ropeOptions,
} from "../../model/decoder/forward.ts";
import type { Layer, Model } from "../../model/decoder/model.ts";
import type { KvCache } from "./kv_cache.ts";
import type { PromptReader, PromptRow } from "./prompt_log_probs.ts";
import type { Sequence } from "./sequence.ts";

/** A stretch of a sequence to compute before it is decoded. */
export interface Prefill {
  readonly sequence: Sequence;
  /** Positions `first` to `end` - 1 are computed. */
  readonly first: number;
  readonly end: number;
  /** Keys from this position on are written; those before it are in the cache. */
  readonly written: number;
  /** Rows of the cache that are copied to others, (from, to), once those from which they come are written. */
  readonly copies: readonly (readonly [number, number])[];
}

/** Cuts the work into passes of at most so many tokens; a pass may need what those before it wrote. */
export function cutPrefills(prefills: readonly Prefill[], maximum: number): Prefill[][] {
  const passes: Prefill[][] = [[]];
  let room = maximum;
  for (let { first, copies, ...rest } of prefills) {
    const { end } = rest;
    do {
      if (room === 0 && end > first) {
        passes.push([]);
        room = maximum;
      }
      const stop = Math.min(end, first + room);
      passes[passes.length - 1].push({ ...rest, first, end: stop, copies });
      room -= stop - first;
      first = stop;
      copies = [];
    } while (first < end);
  }
  return passes;
}

/** The tensors of a pass. T tokens. */
interface Pass {
  /** u32 [2 T]: where each token stands in its sequence, then the row of the cache that it fills */
  readonly places: Tensor;
  /** u32 [T, 4] */
  readonly segments: Tensor;
  readonly pageTable: Tensor;
  /** Keys of the longest sequence of the pass. */
  readonly longest: number;
  /** Keys that all tokens together attend to. */
  readonly attendedRows: number;
}

/**
 * Computes tokens of sequences and stores their keys and values in the cache, in which the keys before them
 * are. A token's keys have the same bits as when the whole sequence is computed at once.
 *
 * @param prompts is told what the model says of the prompts whose log-probs are wanted
 */
export function prefill(
  model: Model,
  cache: KvCache,
  pass: readonly Prefill[],
  prompts: PromptReader,
): void {
  const { gpu } = model;
  const computed = pass.filter(({ first, end }) => end > first);
  const pairs = Uint32Array.from(pass.flatMap(({ copies }) => copies.flat()));
  gpu.scope(() => {
    const copies = pairs.length > 0
      ? gpu.from(pairs, [pairs.length / 2, 2], "u32", "copied rows")
      : null;
    const copy = (layer: number) => {
      const [cacheKeys, cacheValues] = [cache.keys[layer], cache.values[layer]];
      if (copies) cacheCopy(gpu, { cacheKeys, cacheValues }, copies);
    };
    if (computed.length === 0) {
      model.layers.forEach((_, index) => copy(index));
      return [];
    }
    const tokens = computed.flatMap(({ sequence, first, end }) =>
      sequence.tokens.slice(first, end)
    );
    const tensors = passTensors(model, computed, tokens.length);
    const rows = promptRows(computed);
    let x = embed(model, gpu.from(Uint32Array.from(tokens), [tokens.length], "u32", "tokens"));
    model.layers.forEach((layer, index) => {
      const store = storeKeys(model, cache, index, layer, tensors, () => copy(index));
      if (index === model.layers.length - 1 && rows.length === 0) {
        // The last layer's output is not needed, only its keys and values.
        gpu.scope(() => store(layerQkv(model, layer, x).qkv));
        return;
      }
      const attend = attendPages(model, cache, index, layer, tensors, store);
      const output = gpu.scope(
        () => layerForward(model, layer, x, attend),
        (kept) => [kept],
      );
      gpu.release(x);
      x = output;
    });
    return prompts.record(x, rows);
  }, (kept) => kept);
}

/** The rows that predict tokens of prompts whose log-probs are wanted. */
function promptRows(computed: readonly Prefill[]): PromptRow[] {
  const rows: PromptRow[] = [];
  let row = 0;
  for (const { sequence, first, end } of computed) {
    for (let position = first; position < end; position++, row++) {
      if (sequence.wantsPrompt) rows.push({ sequence, position, row });
    }
  }
  return rows;
}

function passTensors({ gpu }: Model, computed: readonly Prefill[], count: number): Pass {
  const places = new Uint32Array(2 * count);
  const [positions, keyRows] = [places.subarray(0, count), places.subarray(count)];
  keyRows.fill(noToken);
  const pages: number[] = [];
  let row = 0;
  const segments = computed.map(({ sequence, first, end, written }) => {
    const firstPage = pages.length;
    for (const { page } of sequence.pages) pages.push(page);
    for (let position = first; position < end; position++, row++) {
      positions[row] = position;
      if (position >= written) keyRows[row] = sequence.rowOf(position);
    }
    return { tokens: end - first, position: first, firstPage };
  });
  return {
    places: gpu.from(places, [2 * count], "u32", "places"),
    segments: gpu.from(pagedSegments(segments), [count, 4], "u32", "segments"),
    pageTable: gpu.from(Uint32Array.from(pages), [pages.length], "u32", "page table"),
    longest: computed.reduce((most, { end }) => Math.max(most, end), 0),
    attendedRows: positions.reduce((sum, position) => sum + position + 1, 0),
  };
}

/** Rotates the tokens and writes their keys and values to the cache. @returns the queries [T, H, D] */
function storeKeys(
  model: Model,
  cache: KvCache,
  index: number,
  layer: Layer,
  { places, longest }: Pass,
  copy: () => void,
): (qkv: Tensor) => Tensor {
  const { gpu, config: { heads, headDim } } = model;
  return (qkv) => {
    const [tokens] = qkv.shape;
    const queries = gpu.tensor([tokens, heads, headDim], "f32", "queries");
    const [keys, values] = [cache.keys[index], cache.values[index]];
    const options = { ...ropeOptions(model, layer, longest), keyRowsAt: tokens };
    ropeForward(gpu, qkv, places, { queries, keys, values }, options);
    copy();
    return queries;
  };
}

/** Stores the tokens' keys and values and attends to their sequences' pages. */
function attendPages(
  model: Model,
  cache: KvCache,
  index: number,
  layer: Layer,
  { segments, pageTable, attendedRows }: Pass,
  store: (qkv: Tensor) => Tensor,
): (qkv: Tensor) => { readonly output: Tensor } {
  const { gpu } = model;
  return (qkv) => {
    const queries = store(qkv);
    const output = gpu.tensor(queries.shape, "f32", "attention");
    const [cacheKeys, cacheValues] = [cache.keys[index], cache.values[index]];
    attentionPaged(
      gpu,
      { queries, cacheKeys, cacheValues, segments, pageTable, attendedRows },
      output,
      attentionShape(model, layer),
    );
    return { output };
  };
}
