import type { Tensor } from "../../gpu/tensor.ts";
import { noToken } from "../../kernels/sampling/decode_slots.ts";
import { attentionPaged } from "../../kernels/attention/attention.ts";
import { pagedSegments } from "../../kernels/attention/attention_segments.ts";
import { cacheCopy } from "../../kernels/attention/cache_copy.ts";
import {
  convolutionForward,
  convolutionInputs,
} from "../../kernels/convolution/short_convolution.ts";
import { deltaInputs } from "../../kernels/delta/delta_inputs.ts";
import { deltaWidths } from "../../kernels/delta/delta_shape.ts";
import { ropeForward } from "../../kernels/attention/rope.ts";
import {
  attentionShape,
  convolutionWeights,
  embed,
  layerForward,
  layerQkv,
  ropeOptions,
} from "../../model/decoder/forward.ts";
import { deltaEnd, deltaOf } from "../../model/decoder/delta.ts";
import type { Layer, Model } from "../../model/decoder/model.ts";
import { type KvCache, type LayerCache, pagedTensors } from "./kv_cache.ts";
import { makeStates, type PassStates, passStates } from "./prefill_states.ts";
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
  /** Tokens of which passes before have made its state; 0 where it is still to begin. */
  readonly begun: number;
  /** Rows of the cache that are copied to others, (from, to), once those from which they come are written. */
  readonly copies: readonly (readonly [number, number])[];
}

/** Cuts the work into passes of at most so many tokens; a pass may need what those before it wrote. */
export function cutPrefills(
  prefills: readonly Omit<Prefill, "begun">[],
  maximum: number,
): Prefill[][] {
  const passes: Prefill[][] = [[]];
  let room = maximum;
  for (let { first, copies, ...rest } of prefills) {
    const { end } = rest;
    let begun = 0;
    do {
      if (room === 0 && end > first) {
        passes.push([]);
        room = maximum;
      }
      const stop = Math.min(end, first + room);
      passes[passes.length - 1].push({ ...rest, first, end: stop, begun, copies });
      room -= stop - first;
      first = begun = stop;
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
    const copy = (layer: LayerCache) => {
      if (!copies) return;
      if ("keys" in layer) {
        cacheCopy(gpu, { cacheKeys: layer.keys, cacheValues: layer.values }, copies);
        return;
      }
      for (const cacheKeys of pagedTensors(layer)) {
        cacheCopy(gpu, { cacheKeys, cacheValues: null }, copies);
      }
    };
    const states = passStates(model, pass);
    if (computed.length === 0) {
      cache.layers.forEach((kept, index) => {
        copy(kept);
        makeStates(model, model.layers[index], kept, states, null);
      });
      return [];
    }
    const tokens = computed.flatMap(({ sequence, first, end }) =>
      sequence.tokens.slice(first, end)
    );
    const tensors = passTensors(model, computed, tokens.length);
    const rows = promptRows(computed);
    let x = embed(model, gpu.from(Uint32Array.from(tokens), [tokens.length], "u32", "tokens"));
    model.layers.forEach((layer, index) => {
      const kept = cache.layers[index];
      const mixer = mixerOf(model, kept, layer, tensors, states);
      const store = (qkv: Tensor) => {
        const mix = mixer(qkv);
        copy(kept);
        return mix;
      };
      if (index === model.layers.length - 1 && rows.length === 0) {
        // The last layer's output is not needed, only what it keeps.
        gpu.scope(() => {
          store(layerQkv(model, layer, x).qkv);
          makeStates(model, layer, kept, states, null);
        });
        return;
      }
      const attend = (qkv: Tensor) => ({ output: store(qkv)() });
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

/**
 * Writes what a layer keeps of the tokens of a pass to the cache, and then mixes them with those before them.
 *
 * @returns makes what comes of it [T, …], once all that it reads is in the cache
 */
type PagedMixer = (qkv: Tensor) => () => Tensor;

function mixerOf(
  model: Model,
  kept: LayerCache,
  layer: Layer,
  pass: Pass,
  states: PassStates | null,
): PagedMixer {
  if ("kept" in kept) return deltaNet(model, kept, layer, pass, states);
  return "inputs" in kept
    ? convolution(model, kept.inputs, layer, pass)
    : attention(model, kept, layer, pass);
}

function attention(
  model: Model,
  { keys, values }: { readonly keys: Tensor; readonly values: Tensor },
  layer: Layer,
  { places, longest, segments, pageTable, attendedRows }: Pass,
): PagedMixer {
  const { gpu, config: { heads, headDim } } = model;
  return (qkv) => {
    const [tokens] = qkv.shape;
    const queries = gpu.tensor([tokens, heads, headDim], "f32", "queries");
    const options = { ...ropeOptions(model, layer, longest), keyRowsAt: tokens };
    ropeForward(gpu, qkv, places, { queries, keys, values }, options);
    return () => {
      const output = gpu.tensor(queries.shape, "f32", "attention");
      const cached = { cacheKeys: keys, cacheValues: values };
      const where = { segments, pageTable, attendedRows };
      const shape = attentionShape(model, layer);
      attentionPaged(gpu, { queries, ...cached, ...where }, output, shape);
      return output;
    };
  };
}

function convolution(
  { gpu }: Model,
  inputs: Tensor,
  layer: Layer,
  { places, segments, pageTable }: Pass,
): PagedMixer {
  return (projected) => {
    const [tokens] = projected.shape;
    const { cacheDtype } = gpu;
    convolutionInputs(gpu, projected, inputs, { cacheDtype, rows: { places, at: tokens } });
    return () => {
      const output = gpu.tensor([tokens, inputs.shape[1]], "f32", "convolution");
      const where = { inputs, segments, pageTable };
      convolutionForward(gpu, projected, where, convolutionWeights(layer), output);
      return output;
    };
  };
}

function deltaNet(
  model: Model,
  cache: Extract<LayerCache, { kept: unknown }>,
  layer: Layer,
  { places }: Pass,
  states: PassStates | null,
): PagedMixer {
  const { gpu } = model;
  const { shape, weights } = deltaOf(layer);
  return (projected) => {
    const [tokens] = projected.shape;
    const rows = { places, at: tokens };
    const { cacheDtype } = gpu;
    deltaInputs(gpu, projected, weights, shape, cache.kept, { cacheDtype, rows });
    return () => {
      const values = gpu.tensor([tokens, deltaWidths(shape).values], "f32", "delta values");
      makeStates(model, layer, cache, states, values);
      return deltaEnd(model, layer, values, projected).output;
    };
  };
}
