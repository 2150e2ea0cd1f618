import type { Placed } from "../distributed/placed.ts";
import type { Sampler } from "../engine/sampling/sampler.ts";
import type { HostReference } from "../engine/training/host_reference.ts";
import type { Trainer } from "../engine/training/trainer.ts";
import type { ModelConfig } from "../model/decoder/config.ts";
import type { Model, ParameterCount } from "../model/decoder/model.ts";
import type { SampledAhead } from "./sampled_ahead.ts";
import type { Tokenizer } from "../model/tokenizer/tokenizer.ts";

/** The two roles. */
export type PolicyName = "generator" | "verifier";

/**
 * A language model in its role: how it is prompted and read, which every rank knows, and what computes with
 * its weights, on the ranks that hold them.
 */
export interface Policy<Template> {
  readonly tokenizer: Tokenizer;
  readonly template: Template;
  /** Ids that end a response. */
  readonly stopTokens: readonly number[];
  readonly maximumResponse: number;
  /** Tokens of the longest prompt; null: as many as leave room for the longest response. */
  readonly maximumPrompt: number | null;
  readonly config: ModelConfig;
  readonly parameterCount: ParameterCount;
  /** False for a frozen policy. */
  readonly isTrained: boolean;
  readonly engine: Placed<PolicyEngine>;
}

/** The engine that samples a policy and, when it is trained, updates it. */
export interface PolicyEngine {
  readonly model: Model;
  /** Samples the model; it holds memory while a rollout lasts. */
  readonly sampler: Sampler;
  /** Null for a frozen policy. */
  readonly trainer: Trainer | null;
  /** Responses that wait to be asked for. */
  readonly ahead: SampledAhead;
  /** The frozen starting weights that log-probs are measured against; null where none are. */
  readonly reference: Model | null;
  /** The same in host memory; null where they are on the GPU, or nothing is measured against them. */
  readonly hostReference: HostReference | null;
}

/** Updates that a policy's weights have had: they say which of its versions wrote something. */
export function versionOf({ trainer }: PolicyEngine): number {
  return trainer?.optimizer.step ?? 0;
}
