import { bytesOf, type Tensor } from "../../gpu/tensor.ts";
import { attentionBlock, pageTokens } from "../../kernels/attention/attention_shape.ts";
import {
  decodeWalk,
  longestHeadOfWalk,
  mostHeadsOfWalk,
  type WalkShape,
  type WalkStep,
  walkSteps,
} from "../../kernels/walk/decode_walk.ts";
import { attentionShape } from "../../model/decoder/forward.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { Parameter } from "../../model/decoder/parameters.ts";
import type { JoinedCache } from "./kv_cache.ts";
import type { PlacedSlots } from "./slot_state.ts";

/** Bytes of four numbers. */
const vectorBytes = 16;

/** Weights up to which a launch costs a software driver about as much as a layer's work. */
const mostWeights = 2 ** 19;

/**
 * A decode step of a small model in one launch, for software drivers. It needs of the model what the kernel has: layers
 * of attention and a gated feed-forward block that are all alike, weights in one tensor, everything in f32.
 */
export class DecodeWalk {
  readonly #weights: Tensor;
  readonly #steps: Tensor;
  readonly #shape: WalkShape;

  /** Whether a model's steps can be done so, with a cache of so many pages. */
  static isFor({ gpu, config, parameters, adapter, layers }: Model, pages: number): boolean {
    const { heads, kvHeads, headDim, biases, norms, scales, caps } = config;
    const { window, taps, delta, gated, experts } = config.kinds[0];
    const { limits } = gpu.device;
    const cacheBytes = bytesOf("f32") * layers.length * pages * pageTokens * kvHeads * headDim;
    return gpu.tuning.lanes === "cpu" && gpu.tuning.matrix === null && gpu.cacheDtype === "f32" &&
      parameters.weights.length === 1 && parameters.weights[0].dtype === "f32" &&
      parameters.count <= mostWeights && !adapter &&
      config.kinds.length === 1 && window === null && taps === undefined &&
      delta === undefined && !gated && experts === undefined &&
      heads / kvHeads <= mostHeadsOfWalk && headDim <= longestHeadOfWalk &&
      !biases.qkv && !biases.attentionOutput && !biases.feedForward &&
      !config.qkNorm && !norms.fromOne && !norms.after &&
      scales.embedding === 1 && scales.residual === 1 && scales.logits === 1 &&
      caps.attention === null && caps.logits === null &&
      cacheBytes <= Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  }

  /** @param cache of `KvCache.joined` */
  constructor(private readonly model: Model, private readonly cache: JoinedCache) {
    const { gpu, config, parameters, layers } = model;
    const { hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabularySize } = config;
    const [weights] = parameters.weights;
    const at = ({ weight }: Parameter) => (weight.byteOffset - weights.byteOffset) / vectorBytes;
    const size = {
      residual: hiddenSize / 4,
      qkv: (heads + 2 * kvHeads) * headDim / 4,
      attention: heads * headDim / 4,
      gateUp: intermediateSize / 2,
      inner: intermediateSize / 4,
      scores: heads / kvHeads * attentionBlock / 4,
      // Sums of the widest product.
      aside: Math.max(
        (heads + 2 * kvHeads) * headDim / 4,
        intermediateSize / 2,
        hiddenSize / 4,
        Math.ceil(vocabularySize / 4),
      ),
    };
    const residual = 0;
    const normed = residual + size.residual;
    const qkv = normed + size.residual;
    const gateUp = qkv + size.qkv;
    const inner = gateUp + size.gateUp;
    const scores = inner + size.inner;
    const aside = scores + size.scores;
    const cacheVectors = cache.keys.size / layers.length / 4;
    const norm = (parameter: Parameter): WalkStep => ({
      ...{ kind: "norm", input: residual, output: normed, depth: size.residual },
      weight: at(parameter),
    });
    const product = (
      kind: "product" | "productAdded" | "head",
      parameter: Parameter,
      places: { readonly input: number; readonly depth: number; readonly output?: number },
    ): WalkStep => ({
      ...{ kind, ...places, weight: at(parameter), aside },
      columns: parameter.weight.shape[0],
    });
    const ofNormed = { input: normed, depth: size.residual };
    const steps = layers.flatMap((layer, index): WalkStep[] => {
      const { feedForward } = layer;
      if ("experts" in feedForward) throw new Error("a walk of experts");
      return [
        norm(layer.inputNorm),
        product("product", layer.qkv.weight, { ...ofNormed, output: qkv }),
        { kind: "attention", input: qkv, cache: index * cacheVectors },
        product("productAdded", layer.attentionOutput.weight, {
          input: qkv,
          depth: size.attention,
          output: residual,
        }),
        norm(layer.postNorm),
        product("product", feedForward.gateUp.weight, { ...ofNormed, output: gateUp }),
        { kind: "gate", input: gateUp, output: inner, depth: size.inner },
        product("productAdded", feedForward.down.weight, {
          input: inner,
          depth: size.inner,
          output: residual,
        }),
      ];
    });
    // A table of so few numbers is one tile.
    steps.push(norm(model.finalNorm), product("head", model.head[0], ofNormed));
    this.#weights = weights;
    this.#steps = walkSteps(gpu, steps);
    this.#shape = {
      ...attentionShape(model, layers[0]),
      ...{ hiddenSize, vocabularySize, scores, width: aside + size.aside },
      rotated: layers[0].kind.rotation.size,
      normEpsilon: config.normEpsilon,
      activation: config.activation,
      embedding: at(model.embedding[0]),
      depths: [size.residual, size.attention, size.inner],
    };
  }

  /**
   * The logits of one token of every slot. Call inside a `gpu.scope`.
   *
   * @returns [W, V, padded to a multiple of 4]
   */
  logits({ state, pageTable }: PlacedSlots): Tensor {
    const { model: { gpu, rotations, layers }, cache: { keys, values } } = this;
    const table = rotations.upTo(layers[0].kind.rotation, pageTable.shape[1] * pageTokens);
    const weights = this.#weights, steps = this.#steps;
    const bindings = { weights, steps, table, pageTable, state, keys, values };
    return decodeWalk(gpu, bindings, this.#shape);
  }

  /** Returns the GPU memory. */
  release(): void {
    this.model.gpu.release(this.#steps);
  }
}
