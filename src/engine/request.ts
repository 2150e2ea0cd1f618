import type { Sampling as TokenSampling, SamplingStream } from "../kernels/sample.ts";

/** How tokens are drawn: temperature, filters and the place of their random numbers. */
export interface Sampling extends TokenSampling, SamplingStream {}

/** A response that somebody waits for. */
export interface SampleRequest extends Sampling {
  /** [P], not empty */
  readonly prompt: Uint32Array;
  /** With the seed, stream and step the place of its random numbers. */
  readonly sequenceId: number;
  /** The most tokens in the response. */
  readonly maximumResponse: number;
  /** Any number of ids that end it. */
  readonly stopTokens: readonly number[];
  /** Told of the response as it comes. */
  readonly listener: SampleListener;
}

/** Told of one response. */
export interface SampleListener {
  /** Its next tokens, as they are read back. */
  tokens?(tokens: readonly number[]): void;
  /** It has ended. */
  end(response: Response): void;
}

/** Why a response ended. */
export type ResponseEnd =
  | { readonly reason: "stop token"; readonly token: number }
  | { readonly reason: "length" | "aborted" };

/** A sampled response. L tokens. */
export interface Response {
  /** [L], the stop token included when there was one */
  readonly tokens: Uint32Array;
  /** [L] log-probabilities under the sampling policy at its temperature */
  readonly logProbs: Float32Array;
  readonly end: ResponseEnd;
  /** Tokens of the prompt whose keys were in the cache when it was first admitted. */
  readonly cachedTokens: number;
  /** How often it was put back for want of pages. */
  readonly timesPutBack: number;
}
