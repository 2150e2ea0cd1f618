/** Fields that requests for completions, chats and tokens share. */

import { z } from "@hono/zod-openapi";
import { randomInt } from "node:crypto";
import type { TokenSampling } from "../../kernels/sampling/sample.ts";
import { NOT_BUILT, only } from "./passed_over.ts";

/** The most responses to one prompt. */
const MOST_CHOICES = 128;
const MOST_STOPS = 64;

const tokenId = z.int().min(0).max(2 ** 31 - 1);

/** How tokens are drawn, and where a response ends. */
export const samplingFields = {
  temperature: z.number().min(0).max(100).nullish().describe("1 by default; 0: the likeliest."),
  top_p: z.number().gt(0).max(1).nullish(),
  top_k: z.int().min(-1).max(2 ** 31 - 1).nullish().describe("0 or -1: all."),
  min_p: z.number().min(0).max(1).nullish(),
  seed: z.int().min(0).max(Number.MAX_SAFE_INTEGER).nullish().describe("Left out: a random one."),
  n: z.int().min(1).max(MOST_CHOICES).nullish().describe("Responses to each prompt."),
  stop: z.union([z.string().min(1), z.array(z.string().min(1)).max(MOST_STOPS)]).nullish(),
  stop_token_ids: z.array(tokenId).max(MOST_STOPS).nullish(),
  include_stop_str_in_output: z.boolean().nullish(),
  ignore_eos: z.boolean().nullish().describe("Whether only stop_token_ids end a response."),
  return_token_ids: z.boolean().nullish(),
  return_tokens_as_token_ids: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_usage: z.boolean().nullish() }).nullish(),
  user: z.string().nullish().describe("Requests of several users take turns."),
  presence_penalty: only(0),
  frequency_penalty: only(0),
  repetition_penalty: only(1),
  min_tokens: only(0),
  skip_special_tokens: only(true),
  logit_bias: z.strictObject({}, { error: NOT_BUILT }).nullish(),
} as const;

const fields = z.object(samplingFields);
/** Those of a request that say how tokens are drawn and where they end. */
export type SamplingFields = Pick<
  z.infer<typeof fields>,
  | "temperature"
  | "top_p"
  | "top_k"
  | "min_p"
  | "seed"
  | "stop"
  | "stop_token_ids"
  | "ignore_eos"
>;

/** What every response of a request shares. */
export interface SharedSampling extends TokenSampling {
  readonly seed: number;
  readonly stopTokens: readonly number[];
  readonly stopStrings: readonly string[];
}

/** @param stopTokens of the model */
export function sharedSampling(
  asked: SamplingFields,
  stopTokens: readonly number[],
): SharedSampling {
  const { temperature, top_p, top_k, min_p, seed, stop, stop_token_ids, ignore_eos } = asked;
  return {
    temperature: temperature ?? 1,
    topP: top_p ?? 1,
    topK: Math.max(0, top_k ?? 0),
    minP: min_p ?? 0,
    seed: seed ?? randomInt(2 ** 48 - 1),
    stopTokens: [...(ignore_eos ? [] : stopTokens), ...(stop_token_ids ?? [])],
    stopStrings: [stop ?? []].flat(),
  };
}
