/** Replies to conversations, by the model's own template. */

import { z } from "@hono/zod-openapi";
import type { SampledTokens } from "../../engine/sampling/request.ts";
import type { ChatMessage } from "../../model/tokenizer/chat_template.ts";
import { RequestProblem } from "../http/problem.ts";
import type { ModelNames } from "../serving/model_names.ts";
import type { Served } from "../serving/served_models.ts";
import { type ChatAnswer, chatAnswer, type ChoiceOf } from "./answers.ts";
import { requestsOf } from "./ask.ts";
import { newOpenAiApi } from "./error.ts";
import { NOT_BUILT, passedOverInChats } from "./passed_over.ts";
import { reply, replyFields, replyRoute, type ReplyShape } from "./reply.ts";
import { sharedSampling } from "./sampling_fields.ts";
import { finite, neighboursAt, TokenNames } from "./token_names.ts";

const MOST_LIKELIEST = 20;

const textAlone = z.literal("text", {
  error: ({ input }) => `${JSON.stringify(input)} is not built; expected "text".`,
});
const content = z.union([
  z.string(),
  z.array(z.strictObject({ type: textAlone, text: z.string() })),
]);

/** The turns of a conversation, as OpenAI's clients send them. */
export const chatMessages = z.array(z.object({
  role: z.enum(["system", "developer", "user", "assistant"]),
  content,
  name: z.string().nullish().describe("Not told to the model."),
  tool_calls: z.array(z.unknown()).max(0, NOT_BUILT).nullish(),
})).min(1).max(10_000);

/** How a conversation's text ends, as vLLM has it. */
export const promptFields = {
  add_generation_prompt: z.boolean().nullish().describe(
    "Whether a new turn of the assistant begins; true unless the last message is continued.",
  ),
  continue_final_message: z.boolean().nullish().describe(
    "Whether the last message stays open, so that the response goes on with it.",
  ),
} as const;

const chatRequest = z.strictObject({
  messages: chatMessages,
  max_tokens: z.int().min(1).nullish().describe("What the model's positions leave, by default."),
  max_completion_tokens: z.int().min(1).nullish().describe("The same."),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(MOST_LIKELIEST).nullish(),
  ...promptFields,
  ...passedOverInChats,
  ...replyFields,
});

type ChatRequest = z.infer<typeof chatRequest>;

const chat = replyRoute(
  "/v1/chat/completions",
  "A reply to a conversation",
  chatRequest,
  "The reply",
  chatAnswer,
);

/** The route of OpenAI's chats, with vLLM's fields. */
export function chatRoutes(models: ModelNames) {
  return newOpenAiApi()
    .openapi(chat, async (context) => {
      const asked = context.req.valid("json");
      const served = await models.find(asked.model);
      return await reply(context, served, asked, chatReply(served, asked)) as never; // the library knows no streams of events
    });
}

/**
 * The prompt of a conversation.
 *
 * @throws RequestProblem when the model has no template, or one that refuses the turns, or its end is asked to be two
 */
export function chatPrompt(
  { text: { tokenizer, chat }, name }: Served,
  { messages, add_generation_prompt, continue_final_message }: Conversation,
): Uint32Array {
  if (add_generation_prompt && continue_final_message) {
    const message = "continue_final_message: it takes add_generation_prompt: false.";
    throw new RequestProblem(400, message, "continue_final_message");
  }
  if (chat === null) {
    const message = `model: ${name} has no chat template; ask /v1/completions.`;
    throw new RequestProblem(400, message, "model");
  }
  const turns = messages.map(({ role, content }): ChatMessage => ({
    role: role === "developer" ? "system" : role,
    content: typeof content === "string" ? content : content.map(({ text }) => text).join(""),
  }));
  const text = continue_final_message
    ? chat.template.renderOpen(turns)
    : chat.template.render(turns, { asksForReply: add_generation_prompt ?? true });
  return tokenizer.encode(text);
}

/** A conversation, and how its text ends. */
type Conversation =
  & { readonly messages: z.infer<typeof chatMessages> }
  & Pick<ChatRequest, keyof typeof promptFields>;

/** @throws RequestProblem when it cannot be had */
function chatReply(served: Served, asked: ChatRequest): ReplyShape<ChoiceOf<ChatAnswer>> {
  const { text: { tokenizer, chat } } = served;
  const { n, max_tokens, max_completion_tokens, logprobs, top_logprobs } = asked;
  const prompt = chatPrompt(served, asked);
  const shared = sharedSampling(asked, chat?.stopTokens ?? []);
  const most = max_completion_tokens ?? max_tokens;
  const likeliest = logprobs ? top_logprobs ?? 0 : 0;
  const wanted = { prompts: [prompt], field: "messages", shared, n, most, told: { likeliest } };
  const requests = requestsOf(served, wanted);
  if (top_logprobs && !logprobs) {
    throw new RequestProblem(400, "top_logprobs: it takes logprobs: true.", "top_logprobs");
  }
  const names = new TokenNames(tokenizer, asked.return_tokens_as_token_ids ?? false);
  const named = (token: string, logProb: number) => ({
    token,
    logprob: finite(logProb),
    bytes: Array.from(new TextEncoder().encode(token)),
  });
  const logProbs = (told: SampledTokens | null) =>
    logprobs && told
      ? {
        content: names.each(told.tokens).map((name, place) => ({
          ...named(name, told.logProbs[place]),
          top_logprobs: (neighboursAt(told.tokens, told, place, likeliest) ?? [])
            .slice(0, likeliest)
            .map(({ token, logProb }) => named(names.one(token), logProb)),
        })),
      }
      : null;
  return {
    id: "chatcmpl",
    objects: { whole: "chat.completion", piece: "chat.completion.chunk" },
    ...{ prompts: [prompt], shared, requests },
    choice: (response, content) => ({
      message: { role: "assistant", content, refusal: null },
      logprobs: logProbs(response),
    }),
    piece: (next, content, { isFirst }) => ({
      delta: { ...(isFirst ? { role: "assistant" } : {}), content },
      logprobs: logProbs(next),
    }),
    others: asked.return_token_ids ? { prompt_token_ids: Array.from(prompt) } : {},
  };
}
