/** Texts that go on from prompts: whole, or as server-sent events. How a choice is told is the route's. */

import { createRoute, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { randomUUID } from "node:crypto";
import type { Response as Sampled, SampledTokens } from "../../engine/sampling/request.ts";
import { jsonBody } from "../http/route.ts";
import type { RemoteRequest } from "../serving/messages.ts";
import type { Served } from "../serving/served_models.ts";
import { AskedResponses, clientOf, finishOf } from "./ask.ts";
import type { AskBeside } from "./best_of.ts";
import { answerOpenAiError, type Asking, openAiErrors } from "./error.ts";
import { eventStream, Feed } from "./event_stream.ts";
import { heldAnswer } from "./held_answer.ts";
import { passedOver } from "./passed_over.ts";
import { SampledText } from "./sampled_text.ts";
import { samplingFields, type SharedSampling } from "./sampling_fields.ts";

/** Fields of every request for texts. */
export const replyFields = {
  model: z.string().nullish(),
  ...passedOver,
  ...samplingFields,
} as const;
const fields = z.object(replyFields);
type ReplyFields = z.infer<typeof fields> & { readonly max_tokens?: number | null };

/** A route that answers with texts. @param what the answer is called */
export function replyRoute<
  Path extends string,
  Asked extends z.ZodType,
  Answer extends z.ZodType,
>(path: Path, summary: string, asked: Asked, what: string, answer: Answer) {
  return createRoute({
    method: "post",
    path,
    summary,
    request: { body: jsonBody(asked) },
    responses: {
      200: {
        description: `${what}; with \`stream\` server-sent events, each a part of it.`,
        content: {
          "application/json": { schema: answer },
          "text/event-stream": { schema: z.string() },
        },
      },
      ...openAiErrors(400, 404, 413, 415, 429, 503),
    },
  });
}

/** What was told of a response before. */
export interface Told {
  readonly isFirst: boolean;
  /** Of its text. */
  readonly characters: number;
}

/** What a route makes of a request, and of the responses to it. */
export interface ReplyShape<Choice extends object = object> {
  /** What the answer's id begins with. */
  readonly id: string;
  /** What the answer is called, and a piece of it. */
  readonly objects: { readonly whole: string; readonly piece: string };
  readonly prompts: readonly Uint32Array[];
  readonly shared: SharedSampling;
  /** Prompt by prompt. */
  readonly requests: readonly RemoteRequest[];
  /** A whole response, beside its place and why it ended. */
  choice(response: Sampled, text: string, place: number): Choice;
  /** What has come of a response, beside its place; null: it has ended. */
  piece(next: SampledTokens | null, text: string, told: Told): object;
  /** What is told of each response before it begins, if anything. */
  readonly opening?: (place: number) => object;
  /** Told beside the choices of a whole answer. */
  readonly others?: object;
  /** Places of the responses that are told, where more are sampled; all by default. Streams have none. */
  readonly choose?: (
    responses: readonly Sampled[],
    texts: readonly string[],
    ask: AskBeside,
  ) => Promise<readonly number[]>;
}

/** The answer to a request. */
export async function reply(
  context: Context<Asking>,
  served: Served,
  asked: ReplyFields,
  shape: ReplyShape,
): Promise<Response> {
  const client = clientOf(context, asked.user ?? asked.safety_identifier);
  const asking = new AskedResponses(served, client, context.req.raw.signal);
  const { prompts, requests, shared, objects } = shape;
  const head = (object: string) => ({ id, object, created, model: served.name });
  const id = `${shape.id}-${randomUUID().replaceAll("-", "")}`;
  const created = Math.floor(Date.now() / 1000);
  const includesStop = asked.include_stop_str_in_output ?? false;
  const newText = () => new SampledText(served.text.tokenizer, { ...shared, includesStop });
  const idsOf = ({ tokens }: SampledTokens) =>
    asked.return_token_ids ? { token_ids: Array.from(tokens) } : {};
  // The sampler draws one token at least.
  const asksForNone = asked.max_tokens === 0;
  const asAsked = (response: Sampled) => asksForNone ? { ...response, ...NOTHING } : response;

  const whole = async () => {
    const responses = (await asking.all(requests)).map(asAsked);
    const texts = responses.map(({ tokens }) => {
      const text = newText();
      return text.append(tokens) + text.end();
    });
    const ask: AskBeside = (other, others) =>
      new AskedResponses(other, client, asking.signal).all(others);
    const places = await shape.choose?.(responses, texts, ask) ?? [...responses.keys()];
    const choices = places.map((place, index) => {
      const response = responses[place];
      const choice = shape.choice(response, texts[place], index);
      return { index, ...choice, ...finishOf(response), ...idsOf(response) };
    });
    const usage = usageOf(prompts, responses);
    return { ...head(objects.whole), choices, usage, ...shape.others };
  };

  const send = async (feed: Feed<object>) => {
    const add = (choices: object[], others: object = {}) =>
      feed.add({ ...head(objects.piece), choices, ...others });
    const texts = requests.map(newText);
    const told = requests.map(() => ({ isFirst: true, characters: 0 }));
    const addPiece = (next: SampledTokens | null, text: string, index: number, end: object) => {
      add([{ index, ...shape.piece(next, text, told[index]), ...end }]);
      told[index] = { isFirst: false, characters: told[index].characters + text.length };
    };
    const { opening } = shape;
    if (opening) requests.forEach((_, index) => add([{ index, ...opening(index), ...GOES_ON }]));
    const responses = await asking.all(requests, (next, index) => {
      if (asksForNone) return;
      addPiece(next, texts[index].append(next.tokens), index, { ...GOES_ON, ...idsOf(next) });
    }, (response, index) => {
      addPiece(null, texts[index].end(), index, finishOf(asAsked(response)));
    });
    const usage = usageOf(prompts, responses.map(asAsked));
    if (asked.stream_options?.include_usage) add([], { usage });
  };

  if (!asked.stream) return await heldAnswer(whole(), () => asking.end());
  const feed = new Feed<object>(() => asking.end());
  send(feed).then(() => feed.close(), (error) => feed.close(error));
  return await eventStream(feed, async (error) => await answerOpenAiError(error).json());
}

const GOES_ON = { finish_reason: null } as const;

/** A response of which nothing was asked for. */
const NOTHING = {
  tokens: new Uint32Array(),
  logProbs: new Float32Array(),
  likeliest: null,
  end: { reason: "length" },
} as const;

/** Tokens of an answer. */
function usageOf(prompts: readonly Uint32Array[], responses: readonly Sampled[]) {
  const prompt_tokens = prompts.reduce((sum, { length }) => sum + length, 0);
  const completion_tokens = responses.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const cached_tokens = responses.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0);
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens },
  };
}
