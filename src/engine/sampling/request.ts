import type { SamplingStream, TokenSampling } from "../../kernels/sampling/sample.ts";

/** How tokens are drawn: temperature, filters and the place of their random numbers. */
export interface Sampling extends TokenSampling, SamplingStream {}

/** A response that somebody waits for. */
export interface SampleRequest extends Sampling {
  /** [P], not empty */
  readonly prompt: Uint32Array;
  /** Key of its random numbers, with the seed, stream and step. */
  readonly sequenceId: number;
  /** The most tokens in the response; 0 where log-probs of the prompt are all that is wanted. */
  readonly maximumResponse: number;
  /** Token ids that end the response, any number of them. */
  readonly stopTokens: readonly number[];
  /** Texts that end the response, wherever its tokens are cut; for them the sampler must have a tokenizer. */
  readonly stopStrings?: readonly string[];
  /** How many of the likeliest tokens are told beside each token of the response; 0 by default. */
  readonly likeliest?: number;
  /** Whether log-probs of the prompt's tokens are told: the whole prompt is then computed. */
  readonly promptLogProbs?: boolean;
  /** How many of the likeliest tokens are told beside each token of the prompt; 0 by default. */
  readonly promptLikeliest?: number;
  /** Told of the response as it comes. */
  readonly listener: SampleListener;
}

/** Listener to one response. */
export interface SampleListener {
  /** Hears the next tokens, as they are read back. */
  tokens?(next: SampledTokens): void;
  /** Hears the whole response when it has ended, and nothing after that. */
  end(response: Response): void;
}

/** Why a response ended. */
export type ResponseEnd =
  | { readonly reason: "stop token"; readonly token: number }
  | { readonly reason: "stop string"; readonly text: string }
  | { readonly reason: "length" | "aborted" };

/** The k likeliest tokens at each of L places, the likeliest first. */
export interface LikeliestTokens {
  readonly k: number;
  /** [L, k] */
  readonly tokens: Uint32Array;
  /** [L, k] */
  readonly logProbs: Float32Array;
}

/** Log-probs of a prompt's own tokens, at temperature 1. P tokens. */
export interface PromptLogProbs {
  /** [P] of each token after those before it; the first, which has none, NaN */
  readonly logProbs: Float32Array;
  /** [P, k], the first row 0 and NaN; null when not asked for */
  readonly likeliest: LikeliestTokens | null;
}

/** Tokens of a response. L tokens. */
export interface SampledTokens {
  /** [L], with the stop token, or the token that completed the stop string, when there was one */
  readonly tokens: Uint32Array;
  /** [L] log-probabilities under the sampling policy at its temperature */
  readonly logProbs: Float32Array;
  /** [L, k] at the request's temperature; null when not asked for */
  readonly likeliest: LikeliestTokens | null;
}

/** A sampled response. */
export interface Response extends SampledTokens {
  /** Null when not asked for. */
  readonly prompt: PromptLogProbs | null;
  readonly end: ResponseEnd;
  /** Tokens of the prompt whose keys were in the cache when it was first admitted. */
  readonly cachedTokens: number;
  /** How often it was put back for want of pages. */
  readonly timesPutBack: number;
}
