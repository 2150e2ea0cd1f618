import type { Sampler } from "../engine/sampling/sampler.ts";
import type { Trainer } from "../engine/training/trainer.ts";
import type { Model } from "../model/decoder/model.ts";
import type { Tokenizer } from "../model/tokenizer/tokenizer.ts";

/** The two roles. */
export type PolicyName = "generator" | "verifier";

/** A language model in its role: how it is prompted and sampled, and, when trained, how it is updated. */
export interface Policy<Template> {
  readonly model: Model;
  readonly tokenizer: Tokenizer;
  readonly template: Template;
  /** Ids that end a response. */
  readonly stopTokens: readonly number[];
  readonly maximumResponse: number;
  /** Tokens of the longest prompt; null: as many as leave room for the longest response. */
  readonly maximumPrompt: number | null;
  /** Samples the model; it holds memory while a rollout lasts. */
  readonly sampler: Sampler;
  /** Null for a frozen policy. */
  readonly trainer: Trainer | null;
  /** The frozen starting weights the KL is measured against; null when the KL coefficient is 0. */
  readonly reference: Model | null;
}
