import type { Architecture, ExpertsKind } from "./config.ts";

/** What Hugging Face calls the modules of a decoder; those of a layer without its place. */
export interface ModuleNames {
  readonly inputNorm: string;
  readonly queries: string;
  readonly keys: string;
  readonly values: string;
  readonly queryNorm: string;
  readonly keyNorm: string;
  readonly attentionOutput: string;
  /** Before the feed-forward block. */
  readonly postNorm: string;
  readonly gate: string;
  readonly up: string;
  readonly down: string;
  /** Chooses a token's experts. */
  readonly router: string;
  /** Numbers that are added to its scores where experts are chosen. */
  readonly expertBias: string;
  /** Holds the experts, by number. */
  readonly experts: string;
  /** The expert that every token takes. */
  readonly sharedExpert: string;
  /** Says how much that one counts. */
  readonly sharedGate: string;
  readonly finalNorm: string;
}

const usual: ModuleNames = {
  inputNorm: "input_layernorm",
  queries: "self_attn.q_proj",
  keys: "self_attn.k_proj",
  values: "self_attn.v_proj",
  queryNorm: "self_attn.q_norm",
  keyNorm: "self_attn.k_norm",
  attentionOutput: "self_attn.o_proj",
  postNorm: "post_attention_layernorm",
  gate: "mlp.gate_proj",
  up: "mlp.up_proj",
  down: "mlp.down_proj",
  router: "mlp.gate",
  expertBias: "mlp.expert_bias",
  experts: "mlp.experts",
  sharedExpert: "mlp.shared_expert",
  sharedGate: "mlp.shared_expert_gate",
  finalNorm: "model.norm",
};

const lfm2: ModuleNames = {
  ...usual,
  inputNorm: "operator_norm",
  queryNorm: "self_attn.q_layernorm",
  keyNorm: "self_attn.k_layernorm",
  attentionOutput: "self_attn.out_proj",
  postNorm: "ffn_norm",
  gate: "feed_forward.w1",
  up: "feed_forward.w3",
  down: "feed_forward.w2",
  router: "feed_forward.gate",
  expertBias: "feed_forward.expert_bias",
  experts: "feed_forward.experts",
  finalNorm: "model.embedding_norm",
};

const others: Partial<Record<Architecture, ModuleNames>> = {
  gemma2: { ...usual, postNorm: "pre_feedforward_layernorm" },
  gemma3_text: { ...usual, postNorm: "pre_feedforward_layernorm" },
  lfm2,
  lfm2_moe: lfm2,
};

/** The names of a family. */
export function moduleNames(architecture: Architecture): ModuleNames {
  return others[architecture] ?? usual;
}

/** What a projection is called within its module, or within an expert. */
export const lastName = (module: string) => module.slice(module.lastIndexOf(".") + 1);

/** Stands for the expert that every token takes. */
export const sharedExpert = "shared";

/** A layer's experts in the order of their matrices. */
export const expertsInOrder = (
  { count, shared }: Pick<ExpertsKind, "count" | "shared">,
): (number | typeof sharedExpert)[] => [
  ...Array(count).keys(),
  ...(shared ? [sharedExpert] as const : []),
];

/** The module of an expert that does what `module` does in a block without experts. */
export const expertModule = (
  names: ModuleNames,
  expert: number | typeof sharedExpert,
  module: string,
) =>
  `${expert === sharedExpert ? names.sharedExpert : `${names.experts}.${expert}`}.${
    lastName(module)
  }`;

/** The modules of a gated DeltaNet, and its tensors that are no module's. */
export const deltaNames = {
  inputs: "linear_attn.in_proj_qkv",
  gates: "linear_attn.in_proj_z",
  strengths: "linear_attn.in_proj_b",
  steps: "linear_attn.in_proj_a",
  convolution: "linear_attn.conv1d",
  decayLogs: "linear_attn.A_log",
  stepBiases: "linear_attn.dt_bias",
  norm: "linear_attn.norm",
  output: "linear_attn.out_proj",
} as const;

/** The modules of a gated short convolution. */
export const convolutionNames = {
  inputs: "conv.in_proj",
  weight: "conv.conv",
  output: "conv.out_proj",
} as const;
