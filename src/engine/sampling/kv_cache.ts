import { bytesOf, type CacheDtype, type Tensor } from "../../gpu/tensor.ts";
import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import type { DeltaKept } from "../../kernels/delta/delta_inputs.ts";
import { deltaWidths } from "../../kernels/delta/delta_shape.ts";
import type { Model } from "../../model/decoder/model.ts";
import { reachOfLayers } from "./reach.ts";

/** Pages for the keys of so many tokens. */
export function pagesFor(tokens: number): number {
  return Math.ceil(tokens / pageTokens);
}

/** The most pages of a reach's cache: a layer's keys are bound as a whole, and so are a convolution's inputs. */
export function mostPages(
  { gpu: { device: { limits }, cacheDtype }, config, layers }: Model,
): number {
  const { maxStorageBufferBindingSize, maxBufferSize } = limits;
  const { kvHeads, headDim, hiddenSize } = config;
  const bytes = bytesOf(cacheDtype);
  const widest = Math.max(
    ...layers.map(({ convolution, delta }) => {
      if (!delta) return bytes * (convolution ? hiddenSize : kvHeads * headDim);
      return Math.max(bytes * deltaWidths(delta.shape).inputs, 4 * 2 * delta.shape.valueHeads);
    }),
  );
  return Math.floor(
    Math.min(maxStorageBufferBindingSize, maxBufferSize) / (pageTokens * widest),
  );
}

/** What a layer keeps of each token, in `Gpu.cacheDtype` but for a DeltaNet's rates and states. */
export type LayerCache =
  | {
    /** [pages · pageTokens, KV, D] */
    readonly keys: Tensor;
    /** [pages · pageTokens, KV, D] */
    readonly values: Tensor;
  }
  | {
    /** [pages · pageTokens, C], of `convolutionInputs` */
    readonly inputs: Tensor;
  }
  | {
    /** [pages · pageTokens, M] and f32 [pages · pageTokens, 2·Vh] */
    readonly kept: DeltaKept;
    /** f32 [S, Vh, Dk, Dv], of the sequences that are decoded */
    readonly states: Tensor;
  };

/** Keys and values of all layers. */
export interface JoinedCache {
  /** [layers, pages · pageTokens, KV, D] */
  readonly keys: Tensor;
  /** [layers, pages · pageTokens, KV, D] */
  readonly values: Tensor;
}

/** The tensors in which a layer keeps what lies in pages. */
export function pagedTensors(layer: LayerCache): Tensor[] {
  if ("kept" in layer) return [layer.kept.inputs, layer.kept.rates];
  return "inputs" in layer ? [layer.inputs] : [layer.keys, layer.values];
}

/**
 * What the layers keep of the tokens of many sequences; page p of a layer's reach is rows p · pageTokens and following. A convolution's
 * inputs lie in pages too, though only a sequence's last ones are read again: so a beginning is shared, kept and gone on
 * from at any token, as with keys. So do those of a DeltaNet, whose state is made of them when a sequence is admitted.
 */
export class KvCache {
  readonly layers: readonly LayerCache[];
  /** Of each layer, which of `reachesOf` it has. */
  readonly reachOfLayer: readonly number[];
  /** What all layers keep, of which theirs are views; null where each layer has tensors of its own. */
  readonly joined: JoinedCache | null;
  readonly #made: readonly Tensor[];

  /**
   * @param pages of each of `reachesOf`
   * @param slots S, sequences decoded at once
   * @param isJoined the layers, which all attend, have parts of a tensor of keys and of one of values
   * @throws BufferTooLarge when what a layer keeps, or all of them joined, is more than the device binds
   */
  constructor(
    private readonly model: Model,
    readonly pages: readonly number[],
    slots: number,
    isJoined = false,
  ) {
    const { gpu, config: { kvHeads, headDim, hiddenSize } } = model;
    const made: Tensor[] = [];
    const tensor = (
      shape: readonly number[],
      label: string,
      dtype: CacheDtype = gpu.cacheDtype,
    ) => {
      const one = gpu.tensor(shape, dtype, label);
      made.push(one);
      return one;
    };
    try {
      const reachOfLayer = this.reachOfLayer = reachOfLayers(model.config);
      const joinedRows = pages[0] * pageTokens;
      const joinedShape = [model.layers.length, joinedRows, kvHeads, headDim];
      const joined = this.joined = isJoined
        ? {
          keys: tensor(joinedShape, "cached keys"),
          values: tensor(joinedShape, "cached values"),
        }
        : null;
      this.layers = model.layers.map(({ convolution, delta }, index) => {
        const rows = pages[reachOfLayer[index]] * pageTokens;
        const shape = [rows, kvHeads, headDim];
        if (joined) {
          const first = index * rows * kvHeads * headDim;
          return { keys: joined.keys.view(first, shape), values: joined.values.view(first, shape) };
        }
        if (delta) {
          const { valueHeads, keyDim, valueDim } = delta.shape;
          const { inputs } = deltaWidths(delta.shape);
          return {
            kept: {
              inputs: tensor([rows, inputs], "cached delta inputs"),
              rates: tensor([rows, 2 * valueHeads], "cached delta rates", "f32"),
            },
            states: tensor([slots, valueHeads, keyDim, valueDim], "delta states", "f32"),
          };
        }
        if (convolution) return { inputs: tensor([rows, hiddenSize], "cached convolution inputs") };
        return { keys: tensor(shape, "cached keys"), values: tensor(shape, "cached values") };
      });
    } catch (error) {
      gpu.release(...made);
      throw error;
    }
    this.#made = made;
  }

  /** Returns the GPU memory. */
  release(): void {
    this.model.gpu.release(...this.#made);
  }
}
