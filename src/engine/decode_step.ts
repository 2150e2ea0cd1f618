import type { Tensor } from "../gpu/tensor.ts";
import { advanceSlots } from "../kernels/advance.ts";
import { attentionDecode } from "../kernels/attention_decode.ts";
import { ropeForward } from "../kernels/rope.ts";
import { sampleTokens, type Sampling, type SamplingStream } from "../kernels/sample.ts";
import {
  inverseTemperature as inverse,
  vocabularyFinish,
  vocabularyReduce,
  vocabularyState,
} from "../kernels/vocabulary.ts";
import type { DecodeState } from "./decode_state.ts";
import {
  attentionShape,
  embed,
  finalNorm,
  layerForward,
  ropeOptions,
} from "../model/decoder/forward.ts";
import { headLogits } from "../model/decoder/head.ts";
import type { KvCache } from "./kv_cache.ts";
import type { Layer, Model } from "../model/decoder/model.ts";

/** Where a window of decode steps leaves what it sampled. W steps, S slots. */
export interface DecodeWindow {
  /** u32 [W, S]; inactive slots hold `noToken` */
  readonly tokens: Tensor;
  /** [W, S] */
  readonly logProbs: Tensor;
  /** Which row this step writes. */
  readonly step: number;
}

/** How tokens are drawn and when a sequence ends. */
export interface DecodeOptions extends Sampling, SamplingStream {
  readonly stopTokens: readonly number[];
}

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
  return (qkv: Tensor) => {
    const queries = gpu.tensor([state.slots, heads, headDim], "f32", "queries");
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
    const output = gpu.tensor([state.slots, heads, headDim], "f32", "attention");
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
 */
export function decodeStep(
  model: Model,
  cache: KvCache,
  state: DecodeState,
  window: DecodeWindow,
  options: DecodeOptions,
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
  const vector = (label: string) => gpu.tensor([state.slots], "f32", label);
  const inverseTemperature = inverse(options.temperature);
  const statistics = vocabularyState(gpu, state.slots);
  // Nothing is the target yet: any tokens do, and only the log-sum-exp is used.
  vocabularyReduce(gpu, { logits, firstColumn: 0, columns }, statistics, {
    targets: state.tokens,
    inverseTemperature,
  });
  const logSumExp = vector("log-sum-exp");
  vocabularyFinish(gpu, statistics, { inverseTemperature }, {
    logProbs: vector("unused log-probs"),
    entropy: vector("unused entropy"),
    logSumExp,
  });
  const logProbs = vector("sampled log-probs");
  const { sequenceIds, positions, tokens } = state;
  sampleTokens(
    gpu,
    { logits, logSumExp, sequenceIds, positions },
    { tokens, logProbs },
    { columns, sampling: options, stream: options },
  );
  advanceSlots(gpu, state, logProbs, state.pageTable, window, options.stopTokens, state);
}
