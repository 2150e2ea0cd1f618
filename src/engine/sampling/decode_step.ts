import type { Tensor } from "../../gpu/tensor.ts";
import { attentionDecode } from "../../kernels/attention/attention_decode.ts";
import { convolutionDecode } from "../../kernels/convolution/short_convolution.ts";
import { deltaHeads, deltaInputs } from "../../kernels/delta/delta_inputs.ts";
import { deltaRuleForward } from "../../kernels/delta/delta_rule.ts";
import { deltaWidths } from "../../kernels/delta/delta_shape.ts";
import { gatherRows } from "../../kernels/layers/gather_rows.ts";
import { ropeForward } from "../../kernels/attention/rope.ts";
import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import { sampleTokens } from "../../kernels/sampling/sample.ts";
import {
  attentionShape,
  convolutionWeights,
  embed,
  finalNorm,
  layerForward,
  ropeOptions,
} from "../../model/decoder/forward.ts";
import { deltaEnd, deltaOf, roomForHeads } from "../../model/decoder/delta.ts";
import { headLogits } from "../../model/decoder/head.ts";
import type { Layer, Model } from "../../model/decoder/model.ts";
import type { Held } from "./held_memory.ts";
import type { KvCache, LayerCache } from "./kv_cache.ts";
import { rowStatistics } from "./row_statistics.ts";
import { type DecodeState, type PlacedSlots, placesOf } from "./slot_state.ts";

/** Tensors that a window of decode steps fills with sampled tokens, W slots a step. */
export interface DecodeWindow {
  /** u32 [steps, W, 2]: the token and the bits of its log-prob, see `sampleTokens` */
  readonly tokens: Tensor;
  /** u32 [steps · W, K, 2], see `likeliestTokens`; null when nobody wants them */
  readonly likeliest: Tensor | null;
}

/** Mixes one token per slot with those before it, of which the cache has what the layer keeps, and keeps it too. */
function mixCached(
  model: Model,
  cache: LayerCache,
  layer: Layer,
  state: PlacedSlots,
  reach: number,
): (qkv: Tensor) => { readonly output: Tensor } {
  const { gpu, config } = model;
  const { heads, headDim } = config;
  const [slots] = state.tokens.shape;
  const { lengths } = state;
  const { pageTable, places, keyRowsAt } = placesOf(state, reach);
  if ("kept" in cache) return deltaCached(model, cache, layer, state);
  if ("inputs" in cache) {
    const { inputs } = cache;
    return (projected) => {
      const output = gpu.tensor([slots, inputs.shape[1]], "f32", "convolution");
      const where = { inputs, pageTable, lengths };
      convolutionDecode(gpu, projected, where, convolutionWeights(layer), output);
      return { output };
    };
  }
  const { keys: cacheKeys, values: cacheValues } = cache;
  return (qkv) => {
    const queries = gpu.tensor([slots, heads, headDim], "f32", "queries");
    const positions = pageTable.shape[1] * pageTokens;
    ropeForward(
      gpu,
      qkv,
      places,
      { queries, keys: cacheKeys, values: cacheValues },
      { ...ropeOptions(model, layer, positions), keyRowsAt },
    );
    const output = gpu.tensor([slots, heads, headDim], "f32", "attention");
    attentionDecode(
      gpu,
      { queries, cacheKeys, cacheValues, pageTable, lengths },
      output,
      attentionShape(model, layer),
    );
    return { output };
  };
}

/** As `mixCached`, of a DeltaNet, whose states are moved on by a token. */
function deltaCached(
  model: Model,
  { kept, states }: Extract<LayerCache, { kept: unknown }>,
  layer: Layer,
  { tokens, lengths, pageTable, places, keyRows, keyRowsAt, walks }: PlacedSlots,
): (projected: Tensor) => { readonly output: Tensor } {
  const { gpu } = model;
  const { shape, weights } = deltaOf(layer);
  const [slots] = tokens.shape;
  if (!walks) throw new Error("slots without states");
  return (projected) => {
    const rows = { places, at: keyRowsAt };
    deltaInputs(gpu, projected, weights, shape, kept, { cacheDtype: gpu.cacheDtype, rows });
    const made = roomForHeads(gpu, shape, slots);
    const where = { lengths, pageTable };
    deltaHeads(gpu, kept.inputs, where, weights.convolution, shape, made);
    const rates = gpu.tensor([slots, 2 * shape.valueHeads], "f32", "delta rates");
    gatherRows(gpu, kept.rates, keyRows, rates);
    const values = gpu.tensor([slots, deltaWidths(shape).values], "f32", "delta values");
    const range = { first: 0, count: slots };
    const into = { states, output: values, isOfSlots: true };
    deltaRuleForward(gpu, { heads: made.heads, rates, walks }, shape, range, into);
    return deltaEnd(model, layer, values, projected);
  };
}

/**
 * The logits of one token of every slot, layer by layer. Call inside a `gpu.scope`.
 *
 * @returns [W, V, padded to a multiple of 4]
 */
export function layeredLogits(model: Model, cache: KvCache, state: PlacedSlots): Tensor {
  const { gpu } = model;
  let x = embed(model, state.tokens);
  model.layers.forEach((layer, index) => {
    const attend = mixCached(model, cache.layers[index], layer, state, cache.reachOfLayer[index]);
    const output = gpu.scope(() => layerForward(model, layer, x, attend), (kept) => [kept]);
    gpu.release(x);
    x = output;
  });
  const { hidden } = finalNorm(model, x);
  return headLogits(model, hidden);
}

/**
 * Decodes one token of every slot: model, sampling, stop test, and the state of the next step. Nothing
 * is read back. Call inside a `gpu.scope` of a `gpu.repeat`, whose repetitions are the window's steps.
 */
export function decodeStep(
  model: Model,
  { cache, walk }: Pick<Held, "cache" | "walk">,
  state: DecodeState,
  window: DecodeWindow,
): void {
  const { gpu } = model;
  const logits = walk ? walk.logits(state) : layeredLogits(model, cache, state);
  const { scales, tokens, likeliestCounts } = state;
  if (window.likeliest) {
    const firstRow = { first: 0, by: tokens.size };
    rowStatistics(model, logits, {
      // Targets are ignored here, so any tokens do.
      targets: tokens,
      scales,
      likeliest: { tensor: window.likeliest, firstRow, counts: likeliestCounts },
    });
  }
  const output = { window: window.tokens, step: { first: 0, by: 1 } };
  const { needs } = state;
  sampleTokens(gpu, { logits, ...state }, state, output, {
    columns: model.config.vocabularySize,
    needs,
  });
}
