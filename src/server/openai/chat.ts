/** Replies to conversations, by the model's own template. */

import { createRoute, z } from "@hono/zod-openapi";
import type { Response as Sampled, SampledTokens } from "../../engine/sampling/request.ts";
import type { ChatMessage } from "../../model/tokenizer/chat_template.ts";
import { RequestProblem } from "../http/problem.ts";
import type { ModelNames } from "../serving/model_names.ts";
import type { Served } from "../serving/served_models.ts";
import {
  answerId,
  AskedResponses,
  checkPrompt,
  clientOf,
  finishOf,
  longestResponse,
  unixSeconds,
  usageOf,
} from "./ask.ts";
import { type ChatAnswer, chatAnswer } from "./answers.ts";
import { answerOpenAiError, newOpenAiApi, openAiErrors } from "./error.ts";
import { eventStream, Feed } from "./event_stream.ts";
import { heldAnswer } from "./held_answer.ts";
import { NOT_BUILT, passedOver, passedOverInChats } from "./passed_over.ts";
import { SampledText } from "./sampled_text.ts";
import { remoteRequest, samplingFields, sharedSampling } from "./sampling_fields.ts";
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
  model: z.string().nullish(),
  messages: chatMessages,
  max_tokens: z.int().min(1).nullish().describe("What the model's positions leave, by default."),
  max_completion_tokens: z.int().min(1).nullish().describe("The same."),
  logprobs: z.boolean().nullish(),
  top_logprobs: z.int().min(0).max(MOST_LIKELIEST).nullish(),
  ...promptFields,
  ...passedOver,
  ...passedOverInChats,
  ...samplingFields,
});

type ChatRequest = z.infer<typeof chatRequest>;

const chat = createRoute({
  method: "post",
  path: "/v1/chat/completions",
  summary: "A reply to a conversation",
  request: { body: { required: true, content: { "application/json": { schema: chatRequest } } } },
  responses: {
    200: {
      description: "The reply; with `stream` server-sent events, each a part of it.",
      content: {
        "application/json": { schema: chatAnswer },
        "text/event-stream": { schema: z.string() },
      },
    },
    ...openAiErrors(400, 404, 413, 415, 429, 503),
  },
});

/** The route of OpenAI's chats, with vLLM's fields. */
export function chatRoutes(models: ModelNames) {
  return newOpenAiApi()
    .openapi(chat, async (context) => {
      const asked = context.req.valid("json");
      const served = await models.find(asked.model);
      const reply = new Reply(served, asked);
      const client = clientOf(context, asked.user ?? asked.safety_identifier);
      const asking = new AskedResponses(served, client, context.req.raw.signal);
      return (asked.stream
        ? await reply.stream(asking)
        : await heldAnswer(reply.whole(asking), () => asking.end())) as never; // the library knows no streams of events
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

/** One request: n replies to a conversation. */
class Reply {
  readonly #prompt: Uint32Array;
  readonly #shared;
  readonly #names: TokenNames;
  readonly #id = answerId("chatcmpl");
  readonly #created = unixSeconds();

  /** @throws RequestProblem when it cannot be had */
  constructor(private readonly served: Served, private readonly asked: ChatRequest) {
    const { text: { tokenizer, chat } } = served;
    this.#prompt = chatPrompt(served, asked);
    checkPrompt(served, this.#prompt, "messages");
    this.#shared = sharedSampling(asked, chat?.stopTokens ?? []);
    this.#names = new TokenNames(tokenizer, asked.return_tokens_as_token_ids ?? false);
    if (asked.top_logprobs && !asked.logprobs) {
      throw new RequestProblem(400, "top_logprobs: it takes logprobs: true.", "top_logprobs");
    }
  }

  async whole(asking: AskedResponses): Promise<ChatAnswer> {
    const responses = await asking.all(this.#requests());
    const { return_token_ids } = this.asked;
    return {
      ...this.#head("chat.completion"),
      choices: responses.map((response, index) => ({
        index,
        message: { role: "assistant" as const, content: this.#textOf(response), refusal: null },
        logprobs: this.#logprobs(response),
        ...finishOf(response),
        ...(return_token_ids ? { token_ids: Array.from(response.tokens) } : {}),
      })),
      usage: usageOf([this.#prompt], responses),
      ...(return_token_ids ? { prompt_token_ids: Array.from(this.#prompt) } : {}),
    };
  }

  stream(asking: AskedResponses): Promise<Response> {
    const feed = new Feed<object>(() => asking.end());
    const head = this.#head("chat.completion.chunk");
    const add = (choices: object[], others: object = {}) =>
      feed.add({ ...head, choices, ...others });
    const requests = this.#requests();
    const texts = requests.map(() => this.#sampledText());
    const begun = requests.map(() => false);
    const deltaOf = (index: number, text: string) => {
      const role = begun[index] ? {} : { role: "assistant" };
      begun[index] = true;
      return { ...role, content: text };
    };
    const { return_token_ids, stream_options } = this.asked;
    const send = async () => {
      const responses = await asking.all(requests, (next, index) => {
        const delta = deltaOf(index, texts[index].append(next.tokens));
        const logprobs = this.#logprobs(next);
        const ids = return_token_ids ? { token_ids: Array.from(next.tokens) } : {};
        add([{ index, delta, logprobs, finish_reason: null, ...ids }]);
      }, (response, index) => {
        const delta = deltaOf(index, texts[index].end());
        add([{ index, delta, logprobs: null, ...finishOf(response) }]);
      });
      if (stream_options?.include_usage) add([], { usage: usageOf([this.#prompt], responses) });
    };
    send().then(() => feed.close(), (error) => feed.close(error));
    return eventStream(feed, async (error) => await answerOpenAiError(error).json());
  }

  #head<Kind extends string>(object: Kind) {
    return { id: this.#id, object, created: this.#created, model: this.served.name };
  }

  #requests() {
    const { asked: { n, max_tokens, max_completion_tokens, logprobs, top_logprobs } } = this;
    const most = longestResponse(
      this.served,
      this.#prompt,
      max_completion_tokens ?? max_tokens ?? null,
    );
    const likeliest = logprobs ? top_logprobs ?? 0 : 0;
    return Array.from(
      { length: n ?? 1 },
      (_, i) => remoteRequest(this.#shared, this.#prompt, i, most, { likeliest }),
    );
  }

  #sampledText(): SampledText {
    const includesStop = this.asked.include_stop_str_in_output ?? false;
    return new SampledText(this.served.text.tokenizer, { ...this.#shared, includesStop });
  }

  #textOf({ tokens }: Sampled): string {
    const text = this.#sampledText();
    return text.append(tokens) + text.end();
  }

  #logprobs(told: SampledTokens) {
    const { logprobs, top_logprobs } = this.asked;
    if (!logprobs) return null;
    const { tokens } = told;
    const names = this.#names.each(tokens);
    const named = (token: string, logProb: number) => ({
      token,
      logprob: finite(logProb),
      bytes: Array.from(new TextEncoder().encode(token)),
    });
    return {
      content: names.map((name, place) => ({
        ...named(name, told.logProbs[place]),
        top_logprobs: (neighboursAt(tokens, told, place, top_logprobs ?? 0) ?? [])
          .slice(0, top_logprobs ?? 0)
          .map(({ token, logProb }) => named(this.#names.one(token), logProb)),
      })),
    };
  }
}
