/** Fields that clients send by themselves, taken as long as they change nothing here. */

import { z } from "@hono/zod-openapi";

/** Of a value that would change an answer. */
export const NOT_BUILT = "this is not built; leave it out";

/** A field that may be there as long as it changes nothing. */
export const only = <Value extends number | boolean | string>(...values: readonly Value[]) =>
  z.literal(values, { error: NOT_BUILT }).nullish();

/** Those of completions and chats: about accounts, billing and caches, of which there are none. */
export const passedOver = {
  store: only(false),
  metadata: z.record(z.string(), z.unknown()).nullish().describe("Kept nowhere."),
  service_tier: only("auto", "default"),
  prompt_cache_key: z.string().nullish().describe("Prompts that begin alike are found without."),
  prompt_cache_retention: z.string().nullish(),
  safety_identifier: z.string().nullish().describe("As user."),
} as const;

/** Those of chats alone: about tools, of which none are called, and other forms than text. */
export const passedOverInChats = {
  tools: z.array(z.unknown()).max(0, NOT_BUILT).nullish(),
  tool_choice: only("none", "auto"),
  parallel_tool_calls: z.boolean().nullish(),
  modalities: z.array(z.literal("text", { error: NOT_BUILT })).nullish(),
  response_format: z.strictObject({ type: z.literal("text", { error: NOT_BUILT }) }).nullish(),
} as const;
