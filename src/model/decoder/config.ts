import type { ExpertScores } from "../../kernels/experts/route.ts";
import type { Activation } from "../../kernels/parts/activation.ts";
import type { DeltaShape } from "../../kernels/delta/delta_shape.ts";
import type { RopeScaling } from "./rope_scaling.ts";

/** Model families that are understood, by `model_type` of their Hugging Face `config.json`. */
export const architectures = [
  "llama",
  "mistral",
  "qwen2",
  "qwen3",
  "smollm3",
  "granite",
  "phi3",
  "gemma2",
  "gemma3_text",
  "lfm2",
  "qwen3_moe",
  "olmoe",
  "lfm2_moe",
  "qwen3_5_text",
  "qwen3_5_moe_text",
] as const;
export type Architecture = (typeof architectures)[number];

/** How queries and keys are turned by their positions (RoPE, Su et al. 2021). */
export interface Rotation {
  /** Elements at the front of a head that are rotated, a multiple of 8; 0 leaves the head as it is (NoPE). */
  readonly size: number;
  /** Base of the wavelengths. */
  readonly theta: number;
  /** Null for positions as they are. */
  readonly scaling: RopeScaling | null;
}

/** A layer's feed-forward block of several, of which each token takes a few (a mixture of experts, Shazeer et al. 2017). */
export interface ExpertsKind {
  /** E */
  readonly count: number;
  /** k, experts of a token */
  readonly chosen: number;
  /** The width inside an expert. */
  readonly innerSize: number;
  /** What the router's logits become. */
  readonly scores: ExpertScores;
  /** Numbers are added to scores where experts are chosen, and nowhere else; no update changes them (LFM2-MoE). */
  readonly biased: boolean;
  /** The weights of a token's experts sum to 1, before `scale`. */
  readonly normalised: boolean;
  /** Multiplies the weights. */
  readonly scale: number;
  /** Every token takes one more, as wide as the others, by the sigmoid of a logit of its own (Qwen3.5-MoE). */
  readonly shared: boolean;
}

/** Matrices of a layer's experts that lie one after the other: the shared one is the last. */
export const matricesOf = ({ count, shared }: ExpertsKind) => count + (shared ? 1 : 0);

/** Experts of a token, the shared one among them. */
export const expertsOfToken = ({ chosen, shared }: ExpertsKind) => chosen + (shared ? 1 : 0);

/** Experts without anything that only some families have. */
export const plainExperts = {
  scores: "softmax",
  biased: false,
  scale: 1,
  shared: false,
} as const satisfies Partial<ExpertsKind>;

/** More are taken for damage. */
export const mostExperts = 1024;

/** What layers of one model differ in. */
export interface LayerKind {
  readonly rotation: Rotation;
  /** Tokens that a token attends to, itself the last; null for all before it. */
  readonly window: number | null;
  /** Taps of the gated short convolution in attention's place (LFM2); left out, the layer attends. */
  readonly taps?: number;
  /** The gated DeltaNet in attention's place (Qwen3.5); left out, the layer attends. */
  readonly delta?: DeltaShape;
  /** What attention gives is multiplied by the sigmoid of gates, of which one lies behind each query (Qwen3.5). */
  readonly gated?: boolean;
  /** The experts of its feed-forward block (Qwen3-MoE and others); left out, it is one block, `intermediateSize` wide. */
  readonly experts?: ExpertsKind;
}

/** The shape of a decoder: what its layers are made of, whatever family it is from. */
export interface ModelConfig {
  /** Says how its files name things, and nothing else. */
  readonly architecture: Architecture;
  /** V */
  readonly vocabularySize: number;
  /** C, the width of the residual stream */
  readonly hiddenSize: number;
  /** I, the width inside the feed-forward block */
  readonly intermediateSize: number;
  readonly layers: number;
  /** Layer i is of kind i modulo their number. */
  readonly kinds: readonly LayerKind[];
  /** H query heads */
  readonly heads: number;
  /** KV key/value heads; divides `heads` */
  readonly kvHeads: number;
  /** D */
  readonly headDim: number;
  readonly normEpsilon: number;
  readonly tiedEmbeddings: boolean;
  /** Projections that have biases. */
  readonly biases: {
    /** Queries, keys and values (Qwen2). */
    readonly qkv: boolean;
    /** The attention's output. */
    readonly attentionOutput: boolean;
    /** Gate, up and down. */
    readonly feedForward: boolean;
  };
  /**
   * RMSNorm on every query and key head (Qwen3, Gemma 3, LFM2), or `whole`: on all queries of a token together, and on all
   * its keys (OLMoE).
   */
  readonly qkNorm: boolean | "whole";
  readonly norms: {
    /** They multiply by 1 + weight (Gemma). */
    readonly fromOne: boolean;
    /** What attention and feed-forward block give is normed too, before it is added (Gemma). */
    readonly after: boolean;
  };
  /** What the gate of the feed-forward block lets through. */
  readonly activation: Activation;
  /** Queries, keys and values are one tensor, and gate and up another (Phi-3). */
  readonly fusedProjections: boolean;
  /** What a family multiplies by (Granite). */
  readonly scales: {
    /** The embedded tokens. */
    readonly embedding: number;
    /** Queries times keys; null for 1 / √D. */
    readonly attention: number | null;
    /** What attention and feed-forward block add to the residual stream. */
    readonly residual: number;
    readonly logits: number;
  };
  /** c of numbers that become c · tanh(number / c), which bounds them (Gemma 2); null for numbers as they are. */
  readonly caps: {
    /** Scaled products of queries and keys, before their softmax. */
    readonly attention: number | null;
    readonly logits: number | null;
  };
  readonly maxPositions: number;
}

/** A decoder without anything that only some families have. */
export const plainDecoder = {
  biases: { qkv: false, attentionOutput: false, feedForward: false },
  qkNorm: false,
  norms: { fromOne: false, after: false },
  activation: "silu",
  fusedProjections: false,
  scales: { embedding: 1, attention: null, residual: 1, logits: 1 },
  caps: { attention: null, logits: null },
} as const satisfies Partial<ModelConfig>;

/** Layers that are all alike and rotate whole heads of D elements. */
export function wholeHeads(
  headDim: number,
  theta: number,
  scaling: RopeScaling | null = null,
): LayerKind[] {
  return [{ rotation: { size: headDim, theta, scaling }, window: null }];
}

/** Whether a layer attends, and has nothing else in attention's place. */
export const attends = ({ taps, delta }: LayerKind): boolean =>
  taps === undefined && delta === undefined;

/** Whether some of its layers have experts. */
export const hasExperts = ({ kinds, layers }: ModelConfig): boolean =>
  kinds.slice(0, layers).some(({ experts }) => experts !== undefined);

/** Whether some of its layers have an expert that all tokens share. */
export const hasSharedExperts = ({ kinds, layers }: ModelConfig): boolean =>
  kinds.slice(0, layers).some(({ experts }) => experts?.shared === true);

/** What layer `i` of a model is. */
export function kindOf({ kinds }: ModelConfig, layer: number): LayerKind {
  return kinds[layer % kinds.length];
}
