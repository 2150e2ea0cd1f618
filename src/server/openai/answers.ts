/** What completions and chats are answered. */

import { z } from "@hono/zod-openapi";
import { choiceRules } from "./best_of.ts";

const logProb = z.number().describe("Of a token that cannot come: -9999.");

const finish = {
  finish_reason: z.enum(["stop", "length", "abort"]),
  stop_reason: z.union([z.int(), z.string()]).nullable().describe(
    "The token or the string that has ended it.",
  ),
} as const;

const usage = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z.object({
    cached_tokens: z.int().describe("Of the prompts, those that were computed before."),
  }),
});

const head = { id: z.string(), created: z.int(), model: z.string() } as const;

/** A completion. */
export const completionAnswer = z.object({
  ...head,
  object: z.literal("text_completion"),
  choices: z.array(z.object({
    index: z.int(),
    text: z.string(),
    logprobs: z.object({
      tokens: z.array(z.string()),
      token_logprobs: z.array(logProb.nullable()),
      top_logprobs: z.array(z.record(z.string(), logProb).nullable()),
      text_offset: z.array(z.int()),
    }).nullable(),
    ...finish,
    prompt_logprobs: z.array(
      z.record(
        z.string(),
        z.object({ logprob: z.number(), rank: z.int().nullable(), decoded_token: z.string() }),
      ).nullable(),
    ).nullish(),
    prompt_token_ids: z.array(z.int()).optional(),
    token_ids: z.array(z.int()).optional(),
  })),
  usage,
  chosen_by: z.enum(choiceRules).optional().describe(
    "With best_of: the verifier's P(CORRECT), or the highest log-prob per token.",
  ),
}).openapi("Completion");
export type CompletionAnswer = z.infer<typeof completionAnswer>;

const namedToken = z.object({ token: z.string(), logprob: logProb, bytes: z.array(z.int()) });

/** A reply. */
export const chatAnswer = z.object({
  ...head,
  object: z.literal("chat.completion"),
  choices: z.array(z.object({
    index: z.int(),
    message: z.object({
      role: z.literal("assistant"),
      content: z.string(),
      refusal: z.null(),
    }),
    logprobs: z.object({
      content: z.array(namedToken.extend({ top_logprobs: z.array(namedToken) })),
    }).nullable(),
    ...finish,
    token_ids: z.array(z.int()).optional(),
  })),
  usage,
  prompt_token_ids: z.array(z.int()).optional(),
}).openapi("ChatCompletion");
export type ChatAnswer = z.infer<typeof chatAnswer>;

/** What only one kind of answer says of a choice. */
export type ChoiceOf<Answer extends CompletionAnswer | ChatAnswer> = Omit<
  Answer["choices"][number],
  "index" | "token_ids" | keyof typeof finish
>;
