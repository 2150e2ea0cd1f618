import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { ropeTable } from "../kernels/rope_table.ts";
import type { ModelConfig } from "./config.ts";
import { layerKey } from "./layout.ts";
import { type Parameter, Parameters } from "./parameters.ts";
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
  readonly embedding: Parameter;
  readonly layers: readonly Layer[];
  readonly finalNorm: Parameter;
  /** [V, C]; the embedding itself when tied. */
  readonly head: Parameter;
  /** cos and sin of every position and frequency. */
  readonly rope: Tensor;

  /** Allocates a model; its weights are zeros until loaded or initialised. */
  constructor(
    readonly gpu: Gpu,
    readonly config: ModelConfig,
    options: { readonly trained: boolean },
  ) {
    const parameters = new Parameters(gpu, config, options);
    this.parameters = parameters;
    this.embedding = parameters.get("embedding");
    this.finalNorm = parameters.get("finalNorm");
    this.head = config.tiedEmbeddings ? this.embedding : parameters.get("head");
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

  /** Returns the GPU memory. */
  release(): void {
    this.parameters.release();
    this.gpu.release(this.rope);
  }
}
