import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { ropeTable } from "../kernels/rope_table.ts";
import type { ModelConfig } from "./config.ts";
import { layerKey } from "./layout.ts";
import {
  type Parameter,
  type ParameterOptions,
  Parameters,
  type TableTileParameter,
} from "./parameters.ts";
import { scaledFrequencies } from "./rope_scaling.ts";

/** The parameters of one decoder layer. Shapes: C model width, D head size, I inner width. */
export interface Layer {
  /** [C] */
  readonly inputNorm: Parameter;
  /** [(H + 2·KV)·D, C]: rows of the query heads, then the key heads, then the value heads */
  readonly qkv: Parameter;
  /** [(H + 2·KV)·D], Qwen2 */
  readonly qkvBias: Parameter | null;
  /** [D], Qwen3 */
  readonly queryNorm: Parameter | null;
  /** [D], Qwen3 */
  readonly keyNorm: Parameter | null;
  /** [C, H·D] */
  readonly attentionOutput: Parameter;
  /** [C] */
  readonly postNorm: Parameter;
  /** [2·I, C]: rows of the gate, then of the up projection */
  readonly gateUp: Parameter;
  /** [C, I] */
  readonly down: Parameter;
}

/** A causal decoder on the GPU: its weights and what its kernels need besides. */
export class Model {
  readonly parameters: Parameters;
  /** [V, C] in tiles */
  readonly embedding: readonly TableTileParameter[];
  readonly layers: readonly Layer[];
  readonly finalNorm: Parameter;
  /** [V, C] in tiles; the embedding itself when tied */
  readonly head: readonly TableTileParameter[];
  /** cos and sin of every position and frequency. */
  readonly rope: Tensor;

  /** Allocates a model; its weights are zeros until loaded or initialised. */
  constructor(
    readonly gpu: Gpu,
    readonly config: ModelConfig,
    options: ParameterOptions,
  ) {
    const parameters = new Parameters(gpu, config, options);
    this.parameters = parameters;
    this.embedding = parameters.tiles("embedding");
    this.finalNorm = parameters.get("finalNorm");
    this.head = config.tiedEmbeddings ? this.embedding : parameters.tiles("head");
    this.layers = Array.from({ length: config.layers }, (_, layer) => {
      const get = (key: string) => parameters.get(layerKey(layer, key));
      return {
        inputNorm: get("inputNorm"),
        qkv: get("qkv"),
        qkvBias: config.qkvBias ? get("qkvBias") : null,
        queryNorm: config.qkNorm ? get("queryNorm") : null,
        keyNorm: config.qkNorm ? get("keyNorm") : null,
        attentionOutput: get("attentionOutput"),
        postNorm: get("postNorm"),
        gateUp: get("gateUp"),
        down: get("down"),
      };
    });
    this.rope = ropeTable(
      gpu,
      config.maxPositions,
      scaledFrequencies(config.headDim, config.ropeTheta, config.ropeScaling),
    );
  }

  /** The most tokens of a pass: its widest activation must be bound as a whole. */
  get tokensPerPass(): number {
    const { hiddenSize, intermediateSize, heads, kvHeads, headDim } = this.config;
    const widest = Math.max(hiddenSize, 2 * intermediateSize, (heads + 2 * kvHeads) * headDim);
    return Math.max(1, Math.floor(this.gpu.device.limits.maxStorageBufferBindingSize / 4 / widest));
  }

  /** The most sequences decoded at once, a multiple of 16: their logits are bound as a whole. */
  get decodeSlots(): number {
    const stride = Math.ceil(this.config.vocabularySize / 4) * 4;
    const fitting = this.gpu.device.limits.maxStorageBufferBindingSize / 4 / stride;
    return Math.max(1, Math.floor(fitting / 16)) * 16;
  }

  /** Returns the GPU memory. */
  release(): void {
    this.parameters.release();
    this.gpu.release(this.rope);
  }
}
