/**
 * What a decoder's passes do, counted as the engine's launches state it (`Gpu.dispatch`): a fused multiply-add
 * is two operations, every tensor is read and written once, activations and what is trained are 4 bytes each.
 *
 * C model width, I inner width, H query heads, KV key/value heads, D head size, L layers, V vocabulary,
 * O = (H + 2·KV)·D the width of query, key and value together. T tokens, P pairs of a query and a key it attends
 * to (summed over sequences, in each layer the same), R predictions.
 */

import type { ModelConfig } from "../../model/decoder/config.ts";
import { keepsLogits } from "../../model/decoder/head.ts";

/** Operations and bytes of some launches. */
export interface Amount {
  readonly flops: number;
  readonly bytes: number;
}

/** Amounts of work, by what limits them. */
export interface Work {
  /** Matrix products. */
  readonly products: Amount;
  readonly attention: Amount;
  /** Bytes of everything else: norms, rotation, activation, sampling, optimizer. */
  readonly otherBytes: number;
  /** Launches on the GPU. */
  readonly launches: number;
}

/** No work. */
export const noWork: Work = {
  products: { flops: 0, bytes: 0 },
  attention: { flops: 0, bytes: 0 },
  otherBytes: 0,
  launches: 0,
};

/** The sum of several works. */
export function addWork(...works: readonly Work[]): Work {
  const sum = (of: (work: Work) => number) => works.reduce((total, work) => total + of(work), 0);
  return {
    products: {
      flops: sum(({ products }) => products.flops),
      bytes: sum(({ products }) => products.bytes),
    },
    attention: {
      flops: sum(({ attention }) => attention.flops),
      bytes: sum(({ attention }) => attention.bytes),
    },
    otherBytes: sum(({ otherBytes }) => otherBytes),
    launches: sum(({ launches }) => launches),
  };
}

/** A work done `times` times. */
export function repeatedWork(work: Work, times: number): Work {
  const { products, attention } = work;
  return {
    products: { flops: times * products.flops, bytes: times * products.bytes },
    attention: { flops: times * attention.flops, bytes: times * attention.bytes },
    otherBytes: times * work.otherBytes,
    launches: times * work.launches,
  };
}

/** A model whose work is counted. */
export interface CountedModel {
  readonly config: ModelConfig;
  /** Bytes of an element of its matrices: 4 where all are trained, else as they are stored. */
  readonly weightBytes: number;
  /** Rank of an adapter on all seven projections; null without one. */
  readonly adapterRank: number | null;
  /** Whether anything of it is trained: the adapter where there is one, else all weights. */
  readonly isTrained: boolean;
}

/** Parameters of the four products of a layer: C·O + H·D·C + C·2I + I·C. */
export function layerParameters({ config }: Pick<CountedModel, "config">): number {
  const { hiddenSize: C, intermediateSize: I, heads: H, headDim: D } = config;
  return C * qkvWidth(config) + H * D * C + 3 * C * I;
}

/** Parameters of an adapter of rank r: in each layer r·(inputs + outputs) of each projection. */
export function adapterParameters({ config, adapterRank: r }: CountedModel): number {
  if (r === null) return 0;
  const { hiddenSize: C, intermediateSize: I, heads: H, kvHeads: KV, headDim: D, layers } = config;
  return layers * r * ((C + H * D) + 2 * (C + KV * D) + (H * D + C) + 3 * (C + I));
}

/** Number of all parameters, biases and norms too. */
export function allParameters({ config }: Pick<CountedModel, "config">): number {
  const { hiddenSize: C, layers, vocabularySize: V, headDim: D } = config;
  const vectors = 2 * C + (config.qkvBias ? qkvWidth(config) : 0) + (config.qkNorm ? 2 * D : 0);
  const tables = (config.tiedEmbeddings ? 1 : 2) * V * C;
  return tables + layers * (layerParameters({ config }) + vectors) + C;
}

/** Parameters that an update changes. */
export function trainedParameters(model: CountedModel): number {
  if (!model.isTrained) return 0;
  return model.adapterRank === null ? allParameters(model) : adapterParameters(model);
}

const qkvWidth = ({ heads, kvHeads, headDim }: ModelConfig) => (heads + 2 * kvHeads) * headDim;

/** Inputs and outputs of a layer's products: (C + O) + (H·D + C) + (C + 2I) + (I + C). */
function productWidths(
  { hiddenSize: C, intermediateSize: I, heads, headDim, ...config }: ModelConfig,
) {
  return C + (heads + 2 * config.kvHeads) * headDim + heads * headDim + C + C + 2 * I + I + C;
}

/**
 * Launches of an adapter's way forward in a layer: one in and one out of each of seven projections, four in, and the
 * activation, which waits for them.
 */
const adapterLaunches = { forward: 12, backward: 26 };
/** Norms 2, products 4, rotation, attention. */
const layerLaunches = 8;

/**
 * T tokens through all layers: per layer products of 2·T·(layer's parameters) operations (and 2·T·(adapter's)),
 * attention of 4·P·H·D; other bytes 4·T·(4C + 2·O), and with an adapter 3I more. Without one the product of gate and
 * up writes what comes of them, I, and 2I more where a gradient keeps them.
 */
function layersForward(
  model: CountedModel,
  tokens: number,
  pairs: number,
  { keepsGate }: { readonly keepsGate: boolean },
): Work {
  const { config, weightBytes, adapterRank } = model;
  const { hiddenSize: C, intermediateSize: I, heads: H, headDim: D, layers } = config;
  const layer = layerParameters(model);
  const adapter = adapterParameters(model) / layers;
  const written = adapterRank !== null ? 0 : keepsGate ? I : -I;
  return repeatedWork({
    products: {
      flops: 2 * tokens * (layer + adapter),
      bytes: weightBytes * layer + 4 * adapter + 4 * tokens * (productWidths(config) + written),
    },
    attention: { flops: 4 * pairs * H * D, bytes: 16 * tokens * H * D },
    otherBytes: 4 * tokens * (4 * C + 2 * qkvWidth(config) + (adapterRank === null ? 0 : 3 * I)),
    launches: layerLaunches + (adapterRank === null ? 0 : adapterLaunches.forward),
  }, layers);
}

/**
 * Their way back. Of each product the gradient of its input, 2·T·(parameters), and of what is trained that of its
 * weights, 2·T·(parameters), which is read and written; attention 14·P·H·D, as its two kernels compute the
 * weights again. An adapter's inner values are made again.
 */
function layersBackward(model: CountedModel, tokens: number, pairs: number): Work {
  const { config, weightBytes, adapterRank } = model;
  const { hiddenSize: C, intermediateSize: I, heads: H, headDim: D, layers } = config;
  const layer = layerParameters(model);
  const adapter = adapterParameters(model) / layers;
  const whole = adapterRank === null;
  const widths = productWidths(config);
  const weightGradients = whole
    ? { flops: 2 * tokens * layer, bytes: 8 * layer + 4 * tokens * widths, launches: 4 + 2 }
    : { flops: 5 * tokens * adapter, bytes: 12 * adapter, launches: adapterLaunches.backward };
  return repeatedWork({
    products: {
      flops: 2 * tokens * layer + weightGradients.flops,
      bytes: weightBytes * layer + 4 * tokens * widths + weightGradients.bytes,
    },
    attention: { flops: 14 * pairs * H * D, bytes: 32 * tokens * H * D },
    otherBytes: 4 * tokens * (8 * C + 3 * qkvWidth(config) + 5 * I),
    // Products' inputs 4, norms 2, attention 2, rotation, activation, and a bias.
    launches: 4 + 6 + weightGradients.launches + (whole && config.qkvBias ? 1 : 0),
  }, layers);
}

/** R rows against the vocabulary: 2·R·C·V, and the logits written and read once. */
function headForward({ config, weightBytes }: CountedModel, rows: number): Work {
  const { hiddenSize: C, vocabularySize: V } = config;
  const bytes = weightBytes * V * C + 4 * rows * (C + V);
  return {
    products: { flops: 2 * rows * C * V, bytes },
    attention: { flops: 0, bytes: 0 },
    otherBytes: 4 * rows * V,
    launches: 3,
  };
}

/** The logits again where they are not kept, the gradient of the rows, and of the table where all weights are trained. */
function headBackward(model: CountedModel, rows: number): Work {
  const { config, adapterRank, weightBytes } = model;
  const { hiddenSize: C, vocabularySize: V } = config;
  const again = keepsLogits(V, rows) ? 0 : 1;
  const ofTable = adapterRank === null ? 1 : 0;
  const products = 1 + again + ofTable;
  const bytes = (1 + again) * weightBytes * V * C + ofTable * 8 * V * C +
    4 * products * rows * (C + V);
  return {
    products: { flops: 2 * products * rows * C * V, bytes },
    attention: { flops: 0, bytes: 0 },
    otherBytes: 8 * rows * V,
    launches: products + 1,
  };
}

/** Size of a pass. */
export interface PassSize {
  /** T */
  readonly tokens: number;
  /** P */
  readonly pairs: number;
  /** R */
  readonly predictions: number;
}

/** Embedding, layers, last norm: T rows of C read and written twice. */
function ends({ config: { hiddenSize: C } }: CountedModel, tokens: number): Work {
  return { ...noWork, otherBytes: 16 * tokens * C, launches: 2 };
}

/** Log-probs without a gradient. */
export function forwardWork(model: CountedModel, { tokens, pairs, predictions }: PassSize): Work {
  return addWork(
    ends(model, tokens),
    layersForward(model, tokens, pairs, { keepsGate: false }),
    headForward(model, predictions),
  );
}

/** Keys and values of T tokens, which nobody asks for predictions. */
export function prefillWork(model: CountedModel, tokens: number, pairs: number): Work {
  const layers = layersForward(model, tokens, pairs, { keepsGate: false });
  return addWork(ends(model, tokens), layers);
}

/**
 * Every layer's forward pass a second time, but for its last product, which nobody asks for: 2·T·I·C operations
 * less in each, and as many of an adapter's.
 */
function layersAgain(model: CountedModel, tokens: number, pairs: number): Work {
  const { config: { hiddenSize: C, intermediateSize: I, layers }, weightBytes, adapterRank } =
    model;
  const forward = layersForward(model, tokens, pairs, { keepsGate: true });
  const down = I * C + (adapterRank ?? 0) * (I + C);
  const { products } = forward;
  return {
    ...forward,
    products: {
      flops: products.flops - layers * 2 * tokens * down,
      bytes: products.bytes - layers * (weightBytes * I * C + 4 * tokens * (I + C)),
    },
    launches: forward.launches - layers * (adapterRank === null ? 1 : 3),
  };
}

/** A pass with its gradient. @param checkpointing makes every layer's forward pass twice, see `layersAgain` */
export function gradientWork(
  model: CountedModel,
  { tokens, pairs, predictions }: PassSize,
  { checkpointing }: { readonly checkpointing: boolean },
): Work {
  return addWork(
    ends(model, tokens),
    ends(model, tokens),
    layersForward(model, tokens, pairs, { keepsGate: !checkpointing }),
    ...(checkpointing ? [layersAgain(model, tokens, pairs)] : []),
    layersBackward(model, tokens, pairs),
    headForward(model, predictions),
    headBackward(model, predictions),
  );
}

/**
 * One token of each of W slots: weights are read once however many there are, and of every key that is attended
 * to (P of them) key and value: 8·KV·D bytes in each layer. Then the logits of W rows, which sampling reads once.
 */
export function decodeWork(model: CountedModel, slots: number, pairs: number): Work {
  const { config } = model;
  const { layers, kvHeads, headDim } = config;
  const cache: Work = {
    ...noWork,
    attention: { flops: 0, bytes: 8 * layers * kvHeads * headDim * pairs },
  };
  return addWork(
    ends(model, slots),
    layersForward(model, slots, pairs, { keepsGate: false }),
    headForward(model, slots),
    cache,
  );
}

/**
 * An update of N parameters of which this rank has a share: the norm reads its gradients (4 bytes), AdamW reads
 * parameter, gradient and both moments and writes all but the gradient (28 bytes); gradients are cleared once
 * for each shard of the batch that the rank computes, and each shard after the first is copied and added (20 bytes).
 */
export function optimizerWork(parameters: number, share: number, shards: number): Work {
  const summed = 4 * shards + 20 * (shards - 1);
  return {
    ...noWork,
    otherBytes: parameters * (share * 32 + summed),
    launches: 4,
  };
}
