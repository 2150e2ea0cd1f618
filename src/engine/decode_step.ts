import type { Tensor } from "../gpu/tensor.ts";
import { advanceSlots } from "../kernels/advance.ts";
import { attentionDecode } from "../kernels/attention_decode.ts";
import { ropeForward } from "../kernels/rope.ts";
import { sampleTokens } from "../kernels/sample.ts";
import { vocabularyFinish, vocabularyReduce, vocabularyState } from "../kernels/vocabulary.ts";
import {
  attentionShape,
  embed,
  finalNorm,
  layerForward,
  ropeOptions,
} from "../model/decoder/forward.ts";
import { headLogits } from "../model/decoder/head.ts";
import type { Layer, Model } from "../model/decoder/model.ts";
import type { KvCache } from "./kv_cache.ts";
import type { DecodeState } from "./slot_state.ts";

/** Rotates one token per slot, writes its key and value to the cache and attends to the slot's pages. */
function attendCached(
  model: Model,
  cache: KvCache,
  index: number,
  layer: Layer,
  state: DecodeState,
) {
  const { gpu, config } = model;
  const { heads, headDim } = config;
  const [slots] = state.tokens.shape;
  return (qkv: Tensor) => {
    const queries = gpu.tensor([slots, heads, headDim], "f32", "queries");
    const cacheKeys = cache.keys[index];
    const cacheValues = cache.values[index];
    const { keyRows, lengths, pageTable } = state;
    ropeForward(
      gpu,
      qkv,
      state.positions,
      { queries, keys: cacheKeys, values: cacheValues },
      { ...ropeOptions(model, layer), keyRows },
    );
    const output = gpu.tensor([slots, heads, headDim], "f32", "attention");
    attentionDecode(
      gpu,
      { queries, cacheKeys, cacheValues, pageTable, lengths },
      output,
      attentionShape(model),
    );
    return { output };
  };
}

/**
 * Decodes one token of every slot: model, sampling, stop test, and the state of the next step. Nothing
 * is read back. Call inside a `gpu.scope`.
 *
 * @param window u32 [steps, W, 2] of which row `step` is written: see `advanceSlots`
 */
export function decodeStep(
  model: Model,
  cache: KvCache,
  state: DecodeState,
  window: { readonly window: Tensor; readonly step: number },
): void {
  const { gpu, config } = model;
  let x = embed(model, state.tokens);
  model.layers.forEach((layer, index) => {
    const attend = attendCached(model, cache, index, layer, state);
    const output = gpu.scope(() => layerForward(model, layer, x, attend).output, (kept) => [kept]);
    gpu.release(x);
    x = output;
  });
  const { hidden } = finalNorm(model, x);
  const columns = config.vocabularySize;
  const logits = headLogits(model, hidden);
  const [slots] = state.tokens.shape;
  const vector = (label: string) => gpu.tensor([slots], "f32", label);
  const { inverseTemperature, tokens, pageTable, stops } = state;
  const statistics = vocabularyState(gpu, slots);
  // Nothing is the target yet: any tokens do, and only the log-sum-exp is used.
  vocabularyReduce(gpu, { logits, firstColumn: 0, columns }, statistics, {
    targets: tokens,
    inverseTemperature,
  });
  const logSumExp = vector("log-sum-exp");
  vocabularyFinish(gpu, statistics, { inverseTemperature }, {
    logProbs: vector("unused log-probs"),
    entropy: vector("unused entropy"),
    logSumExp,
  });
  const logProbs = vector("sampled log-probs");
  sampleTokens(gpu, { logits, logSumExp, ...state }, { tokens, logProbs }, {
    columns,
    topK: state.topK,
  });
  advanceSlots(gpu, state, { logProbs, pageTable, stops }, window, state);
}
