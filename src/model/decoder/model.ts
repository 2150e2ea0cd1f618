import type { Gpu } from "../../gpu/gpu.ts";
import type { DeltaWeightGradients, DeltaWeights } from "../../kernels/delta/delta_inputs.ts";
import {
  type DeltaShape,
  deltaWidths,
  keptEvery,
  stateSize,
} from "../../kernels/delta/delta_shape.ts";
import {
  attends,
  type ExpertsKind,
  expertsOfToken,
  kindOf,
  type LayerKind,
  matricesOf,
  type ModelConfig,
} from "./config.ts";
import type { ExpertLinear } from "./expert_linear.ts";
import { expertLoraGroups, type ExpertLoraKey } from "./expert_lora.ts";
import { biasKey, layerKey, parameterBlocks } from "./layout.ts";
import type { Linear } from "./linear.ts";
import { type LoraBlockKey, loraBlocks, type LoraConfig, loraGroups } from "./lora.ts";
import {
  type Parameter,
  type ParameterOptions,
  Parameters,
  type TableTileParameter,
} from "./parameters.ts";
import { Rotations } from "./rotations.ts";

/** The parameters of one decoder layer. Shapes: C model width, D head size, I inner width. */
export interface Layer {
  readonly kind: LayerKind;
  /** [C] */
  readonly inputNorm: Parameter;
  /**
   * [(H + 2·KV)·D, C]: rows of the query heads, then the key heads, then the value heads; where attention is gated
   * [(2·H + 2·KV)·D, C], a gate's behind each query head's
   */
  readonly qkv: Linear;
  /** [D], Qwen3, Gemma 3 and LFM2; [H·D] where `qkNorm` is `whole` */
  readonly queryNorm: Parameter | null;
  /** [D], Qwen3, Gemma 3 and LFM2; [KV·D] where `qkNorm` is `whole` */
  readonly keyNorm: Parameter | null;
  /** [C · L] of a layer that has a convolution in attention's place, whose `qkv` is [3·C, C]: b, c and x (LFM2) */
  readonly convolution: Parameter | null;
  /** Null of a layer without a DeltaNet in attention's place, whose `qkv` is [M + N + 2·Vh, C] (Qwen3.5) */
  readonly delta: DeltaLayer | null;
  /** [C, H·D], of a convolution [C, C], of a DeltaNet [C, N] */
  readonly attentionOutput: Linear;
  /** [C] of what attention gives, before it is added (Gemma) */
  readonly attentionNorm: Parameter | null;
  /** [C] */
  readonly postNorm: Parameter;
  readonly feedForward: DenseFeedForward | ExpertFeedForward;
  /** [C] of what the feed-forward block gives, before it is added (Gemma) */
  readonly feedForwardNorm: Parameter | null;
}

/** A gated DeltaNet, besides its projections. */
export interface DeltaLayer {
  readonly shape: DeltaShape;
  readonly weights: DeltaWeights;
  readonly gradients: DeltaWeightGradients;
  /** [Dv] of what a head gives */
  readonly norm: Parameter;
}

/** A feed-forward block. */
export interface DenseFeedForward {
  /** [2·I, C]: rows of the gate, then of the up projection */
  readonly gateUp: Linear;
  /** [C, I] */
  readonly down: Linear;
}

/** A feed-forward block of experts, E of them. */
export interface ExpertFeedForward {
  readonly experts: ExpertsKind;
  /** [E, C] */
  readonly router: Parameter;
  /** [E] added to scores where experts are chosen; null for none */
  readonly bias: Parameter | null;
  /** [E·2·I, C]: of each expert the rows of the gate, then of the up projection */
  readonly gateUp: ExpertLinear;
  /** [E·C, I] */
  readonly down: ExpertLinear;
}

/** A low-rank adapter on a model. */
export interface Adapter {
  readonly config: LoraConfig;
  readonly parameters: Parameters;
  /** Path of the base model, which a saved adapter names. */
  readonly basePath: string;
}

/** How many parameters a model has. */
export interface ParameterCount {
  /** Parameters of the whole model, or of the base. */
  readonly model: number;
  /** Parameters of its adapter; null without one. */
  readonly adapter: number | null;
}

/** An adapter for `Model.adapted`. */
export interface AdapterOptions {
  /** Targets by the model's own names, as `targetsIn` gives them; others change nothing. */
  readonly config: LoraConfig;
  readonly basePath: string;
  readonly trained: boolean;
}

/** A causal decoder on the GPU: its weights and what its kernels need besides. */
export class Model {
  /** [V, C] in tiles */
  readonly embedding: readonly TableTileParameter[];
  readonly layers: readonly Layer[];
  readonly finalNorm: Parameter;
  /** [V, C] in tiles; the embedding itself when tied */
  readonly head: readonly TableTileParameter[];
  /** Models that use the weights of this one, itself among them until it is released. */
  #users = 1;
  #isReleased = false;

  private constructor(
    readonly gpu: Gpu,
    readonly config: ModelConfig,
    /** The weights, or those of the base when there is an adapter. */
    readonly parameters: Parameters,
    /** cos and sin of the positions. */
    readonly rotations: Rotations,
    readonly adapter: Adapter | null,
    /** The model that owns the weights; null when this one does. */
    private readonly base: Model | null,
  ) {
    this.embedding = parameters.tiles("embedding");
    this.finalNorm = parameters.get("finalNorm");
    this.head = config.tiedEmbeddings ? this.embedding : parameters.tiles("head");
    this.layers = Array.from({ length: config.layers }, (_, layer) => makeLayer(this, layer));
  }

  /** Allocates a model; its weights are zeros until loaded or initialised. */
  static create(gpu: Gpu, config: ModelConfig, options: ParameterOptions): Model {
    const parameters = new Parameters(gpu, (most) => parameterBlocks(config, most), options);
    return new Model(gpu, config, parameters, Rotations.create(gpu, config), null, null);
  }

  /** A model on the same weights with another adapter, or without one; release both. */
  adapted(options: AdapterOptions | null): Model {
    this.expectLive();
    const { gpu, config } = this;
    if (!options) return this.#with(null);
    const { config: lora, basePath } = options;
    const parameters = new Parameters(gpu, () => loraBlocks(config, lora), options);
    return this.#with({ config: lora, basePath, parameters });
  }

  /**
   * A frozen copy of this model, which stays as it is while this one is trained. Trained weights are copied on
   * the GPU; a base under an adapter is shared. Release both.
   */
  snapshot(): Model {
    this.expectLive();
    const { gpu, config, adapter } = this;
    if (adapter) return this.#with({ ...adapter, parameters: adapter.parameters.copy() });
    return new Model(gpu, config, this.parameters.copy(), this.rotations.copy(), null, null);
  }

  /**
   * A model of the same shape whose weights, in the types of these, lie in the memory of the gradients; it holds what
   * these leave there until it is written to. Release it before the gradients are needed.
   *
   * @throws Error when not all weights are trained
   */
  withinGradients(): Model {
    this.expectLive();
    const { gpu, config, parameters, rotations } = this;
    return new Model(gpu, config, parameters.withinGradients(), rotations.copy(), null, null);
  }

  /** Another model on the same weights, which both keep. */
  #with(adapter: Adapter | null): Model {
    const { gpu, config, parameters, rotations } = this;
    const owner = this.base ?? this;
    owner.#users++;
    return new Model(gpu, config, parameters, rotations, adapter, owner);
  }

  /** Parameters that training changes: the adapter's, or all. */
  get own(): Parameters {
    return this.adapter?.parameters ?? this.parameters;
  }

  /** Parameters in training; null when the model is frozen. */
  get trainable(): Parameters | null {
    return this.own.gradients ? this.own : null;
  }

  /**
   * Changes with every update and every loading of its weights or of its adapter's. Keys and values that
   * were computed under another version are another model's.
   */
  get weightsVersion(): number {
    // The two counts never fall, so that their sum changes whenever one of them does.
    return this.parameters.version + (this.adapter?.parameters.version ?? 0);
  }

  /** How many parameters it has. */
  get parameterCount(): ParameterCount {
    return {
      model: this.parameters.count,
      adapter: this.adapter && this.adapter.parameters.count,
    };
  }

  /** The most tokens of a pass: its widest activation must be bound as a whole. */
  get tokensPerPass(): number {
    const { hiddenSize, intermediateSize, heads, kvHeads, headDim } = this.config;
    const rank = this.adapter?.config.rank ?? 0;
    const widest = Math.max(
      hiddenSize,
      2 * intermediateSize,
      ...this.layers.map(({ kind: { taps, delta, gated } }) => {
        if (taps !== undefined) return 3 * hiddenSize;
        if (!delta) return ((gated ? 2 : 1) * heads + 2 * kvHeads) * headDim;
        const { projected, values } = deltaWidths(delta);
        const kept = stateSize(delta) / keptEvery;
        return Math.max(projected, 2 * values, 3 * delta.valueHeads * delta.keyDim, kept);
      }),
      ...this.layers.map(({ kind: { experts } }) =>
        experts
          ? Math.max(
            matricesOf(experts),
            expertsOfToken(experts) * Math.max(hiddenSize, 2 * experts.innerSize, 2 * rank),
          )
          : 0
      ),
    );
    return Math.max(1, Math.floor(this.gpu.device.limits.maxStorageBufferBindingSize / 4 / widest));
  }

  /** The most sequences decoded at once, a multiple of 16: their logits are bound as a whole, and a layer's states. */
  get decodeSlots(): number {
    const stride = Math.ceil(this.config.vocabularySize / 4) * 4;
    const widest = Math.max(
      stride,
      ...this.layers.map(({ delta }) => delta ? stateSize(delta.shape) : 0),
    );
    const fitting = this.gpu.device.limits.maxStorageBufferBindingSize / 4 / widest;
    return Math.max(1, Math.floor(fitting / 16)) * 16;
  }

  /**
   * Checks that the model was not released; every computation calls it first, since returned memory is others'.
   *
   * @throws Error when it was released
   */
  expectLive(): void {
    if (this.#isReleased) throw new Error("the model was released");
  }

  /**
   * Returns the GPU memory; the weights when no other model uses them any more.
   *
   * @throws Error when it was released before
   */
  release(): void {
    this.expectLive();
    this.#isReleased = true;
    this.adapter?.parameters.release();
    (this.base ?? this).#leave();
  }

  #leave(): void {
    this.#users--;
    if (this.#users > 0) return;
    this.parameters.release();
    this.rotations.release();
  }
}

/** The projections of a layer that an adapter may change, but for those of experts. */
export function linearsOf({ qkv, attentionOutput, feedForward }: Layer): Linear[] {
  const others = "experts" in feedForward ? [] : [feedForward.gateUp, feedForward.down];
  return [qkv, attentionOutput, ...others];
}

function makeDelta(shape: DeltaShape, get: (key: string) => Parameter): DeltaLayer {
  const [convolution, decayLogs, stepBiases] = ["convolution", "decayLogs", "stepBiases"].map(get);
  return {
    shape,
    weights: {
      convolution: convolution.weight,
      decayLogs: decayLogs.weight,
      stepBiases: stepBiases.weight,
    },
    gradients: {
      convolution: convolution.gradient,
      decayLogs: decayLogs.gradient,
      stepBiases: stepBiases.gradient,
    },
    norm: get("deltaNorm"),
  };
}

function makeLayer({ config, parameters, adapter }: Model, layer: number): Layer {
  const get = (key: string) => parameters.get(layerKey(layer, key));
  const groups = adapter ? loraGroups(config, adapter.config, adapter.parameters, layer) : {};
  const linear = (key: LoraBlockKey, scale = 1): Linear => ({
    weight: get(key),
    bias: parameters.has(layerKey(layer, biasKey(key))) ? get(biasKey(key)) : null,
    scale,
    adapter: groups[key] ?? null,
  });
  const { residual } = config.scales;
  const kind = kindOf(config, layer);
  const { experts } = kind;
  const ofExperts = adapter
    ? expertLoraGroups(config, adapter.config, adapter.parameters, layer)
    : {};
  const expertLinear = (key: ExpertLoraKey, count: number): ExpertLinear => ({
    experts: count,
    weight: get(key),
    adapter: ofExperts[key] ?? null,
  });
  return {
    kind,
    inputNorm: get("inputNorm"),
    qkv: linear("qkv"),
    queryNorm: config.qkNorm && attends(kind) ? get("queryNorm") : null,
    keyNorm: config.qkNorm && attends(kind) ? get("keyNorm") : null,
    convolution: kind.taps === undefined ? null : get("convolution"),
    delta: kind.delta ? makeDelta(kind.delta, get) : null,
    attentionOutput: linear("attentionOutput", residual),
    attentionNorm: config.norms.after ? get("attentionNorm") : null,
    postNorm: get("postNorm"),
    feedForward: experts
      ? {
        experts,
        router: get("router"),
        bias: experts.biased ? get("expertBias") : null,
        gateUp: expertLinear("expertGateUp", matricesOf(experts)),
        down: expertLinear("expertDown", matricesOf(experts)),
      }
      : { gateUp: linear("gateUp"), down: linear("down", residual) },
    feedForwardNorm: config.norms.after ? get("feedForwardNorm") : null,
  };
}
