/** Completions of texts or token ids. */

import { createRoute, z } from "@hono/zod-openapi";
import type { PromptLogProbs, Response as Sampled } from "../../engine/sampling/request.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
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
import { type CompletionAnswer, completionAnswer } from "./answers.ts";
import { answerOpenAiError, newOpenAiApi, openAiErrors } from "./error.ts";
import { eventStream, Feed } from "./event_stream.ts";
import { heldAnswer } from "./held_answer.ts";
import { only, passedOver } from "./passed_over.ts";
import { SampledText } from "./sampled_text.ts";
import { remoteRequest, samplingFields, sharedSampling } from "./sampling_fields.ts";
import { finite, neighboursAt, TokenNames } from "./token_names.ts";

const MOST_PROMPTS = 2048;
const MOST_LIKELIEST = 20;
/** The length of a response to a request that does not say it. */
const DEFAULT_TOKENS = 16;

const ids = z.array(z.int().min(0).max(2 ** 31 - 1));
const likeliest = z.int().min(0).max(MOST_LIKELIEST).nullish();

const completionRequest = z.strictObject({
  model: z.string().nullish(),
  prompt: z.union([z.string(), ids.min(1), z.array(z.string()).min(1), z.array(ids).min(1)]),
  max_tokens: z.int().min(0).nullish().describe(`${DEFAULT_TOKENS} by default.`),
  echo: z.boolean().nullish().describe("Whether the prompt comes before the response."),
  logprobs: likeliest.describe("The likeliest tokens told beside each; 0: its own log-prob alone."),
  prompt_logprobs: likeliest,
  add_special_tokens: only(false),
  best_of: only(1),
  suffix: only(""),
  ...passedOver,
  ...samplingFields,
});

type CompletionRequest = z.infer<typeof completionRequest>;

const completions = createRoute({
  method: "post",
  path: "/v1/completions",
  summary: "Texts that go on from prompts",
  request: {
    body: { required: true, content: { "application/json": { schema: completionRequest } } },
  },
  responses: {
    200: {
      description: "The completion; with `stream` server-sent events, each a part of it.",
      content: {
        "application/json": { schema: completionAnswer },
        "text/event-stream": { schema: z.string() },
      },
    },
    ...openAiErrors(400, 404, 413, 415, 429, 503),
  },
});

/** The route of OpenAI's completions, with vLLM's fields. */
export function completionRoutes(models: ModelNames) {
  return newOpenAiApi()
    .openapi(completions, async (context) => {
      const asked = context.req.valid("json");
      const served = await models.find(asked.model);
      const completion = new Completion(served, asked);
      const client = clientOf(context, asked.user ?? asked.safety_identifier);
      const asking = new AskedResponses(served, client, context.req.raw.signal);
      return (asked.stream
        ? await completion.stream(asking)
        : await heldAnswer(completion.whole(asking), () => asking.end())) as never; // the library knows no streams of events
    });
}

/** One request: its prompts, each with n responses, prompt by prompt. */
class Completion {
  readonly #prompts: readonly Uint32Array[];
  readonly #texts: readonly string[];
  readonly #shared;
  readonly #names: TokenNames;
  readonly #head;

  /** @throws RequestProblem when it cannot be had */
  constructor(private readonly served: Served, private readonly asked: CompletionRequest) {
    const { text: { tokenizer, stopTokens }, name } = served;
    const given = promptsOf(asked.prompt);
    if (given.length * this.#n > MOST_PROMPTS) {
      const message = `prompt: at most ${MOST_PROMPTS} responses are asked for at once.`;
      throw new RequestProblem(400, message, "prompt");
    }
    this.#prompts = given.map((one) =>
      typeof one === "string" ? tokenizer.encode(one) : Uint32Array.from(one)
    );
    for (const prompt of this.#prompts) {
      checkPrompt(served, prompt, "prompt");
      longestResponse(served, prompt, this.#maximum);
    }
    this.#texts = given.map((one) => typeof one === "string" ? one : tokenizer.decode(one));
    this.#shared = sharedSampling(asked, stopTokens);
    this.#names = new TokenNames(tokenizer, asked.return_tokens_as_token_ids ?? false);
    this.#head = {
      id: answerId("cmpl"),
      object: "text_completion" as const,
      created: unixSeconds(),
      model: name,
    };
    const isTold = asked.logprobs != null || asked.prompt_logprobs != null;
    if (asked.stream && (asked.prompt_logprobs != null || (asked.echo && isTold))) {
      const message = "stream: log-probs of the prompt are not streamed; leave one of them out.";
      throw new RequestProblem(400, message, "stream");
    }
  }

  async whole(asking: AskedResponses): Promise<CompletionAnswer> {
    const responses = (await asking.all(this.#requests())).map((one) => this.#asked(one));
    return {
      ...this.#head,
      choices: responses.map((response, index) => this.#choice(response, index)),
      usage: usageOf(this.#prompts, responses),
    };
  }

  stream(asking: AskedResponses): Promise<Response> {
    const { asked, served: { text: { tokenizer } } } = this;
    const feed = new Feed<object>(() => asking.end());
    const add = (choices: object[], others: object = {}) =>
      feed.add({ ...this.#head, choices, ...others });
    const requests = this.#requests();
    const texts = requests.map(() => this.#sampledText(tokenizer));
    const told = requests.map(() => 0);
    const send = async () => {
      if (asked.echo) {
        requests.forEach((_, index) =>
          add([{ index, text: this.#promptText(index), logprobs: null, finish_reason: null }])
        );
      }
      const responses = await asking.all(requests, (next, index) => {
        if (this.#asksForNone) return;
        const { tokens } = next;
        const text = texts[index].append(tokens);
        const logprobs = this.#logprobs(tokens, next, told[index]);
        told[index] += text.length;
        const choice = { index, text, logprobs, finish_reason: null };
        add([asked.return_token_ids ? { ...choice, token_ids: Array.from(tokens) } : choice]);
      }, (response, index) => {
        const end = finishOf(this.#asked(response));
        add([{ index, text: texts[index].end(), logprobs: null, ...end }]);
      });
      const usage = usageOf(this.#prompts, responses.map((one) => this.#asked(one)));
      if (asked.stream_options?.include_usage) add([], { usage });
    };
    send().then(() => feed.close(), (error) => feed.close(error));
    return eventStream(feed, async (error) => await answerOpenAiError(error).json());
  }

  get #n(): number {
    return this.asked.n ?? 1;
  }

  /** Tokens of a response; the sampler draws one at least. */
  get #maximum(): number {
    return Math.max(1, this.asked.max_tokens ?? DEFAULT_TOKENS);
  }

  /** Whether the prompt alone is asked about. */
  get #asksForNone(): boolean {
    return this.asked.max_tokens === 0;
  }

  /** A response as long as it was asked for. */
  #asked(response: Sampled): Sampled {
    if (!this.#asksForNone) return response;
    return {
      ...response,
      tokens: new Uint32Array(),
      logProbs: new Float32Array(),
      likeliest: null,
      end: { reason: "length" },
    };
  }

  #requests() {
    const { asked: { logprobs, prompt_logprobs, echo } } = this;
    const promptLikeliest = Math.max(prompt_logprobs ?? 0, echo ? logprobs ?? 0 : 0);
    const others = {
      likeliest: logprobs ?? 0,
      promptLogProbs: prompt_logprobs != null || (echo === true && logprobs != null),
      promptLikeliest,
    };
    return this.#prompts.flatMap((prompt, p) =>
      Array.from(
        { length: this.#n },
        (_, i) => remoteRequest(this.#shared, prompt, p * this.#n + i, this.#maximum, others),
      )
    );
  }

  #sampledText(tokenizer: Tokenizer): SampledText {
    const includesStop = this.asked.include_stop_str_in_output ?? false;
    return new SampledText(tokenizer, { ...this.#shared, includesStop });
  }

  #promptText(index: number): string {
    return this.#texts[Math.floor(index / this.#n)];
  }

  #choice(response: Sampled, index: number): CompletionAnswer["choices"][number] {
    const { asked, served: { text: { tokenizer } } } = this;
    const prompt = this.#prompts[Math.floor(index / this.#n)];
    const sampled = this.#sampledText(tokenizer);
    const text = sampled.append(response.tokens) + sampled.end();
    const before = asked.echo ? this.#promptText(index) : "";
    return {
      index,
      text: before + text,
      logprobs: asked.echo && response.prompt
        ? this.#logprobsWithPrompt(prompt, response.prompt, response)
        : this.#logprobs(response.tokens, response, before.length),
      ...finishOf(response),
      ...(asked.prompt_logprobs == null
        ? {}
        : { prompt_logprobs: this.#promptLogprobs(prompt, response.prompt) }),
      ...(asked.return_token_ids
        ? { prompt_token_ids: Array.from(prompt), token_ids: Array.from(response.tokens) }
        : {}),
    };
  }

  #logprobs(
    tokens: Uint32Array,
    told: Pick<Sampled, "logProbs" | "likeliest">,
    offset: number,
  ) {
    if (this.asked.logprobs == null) return null;
    const names = this.#names.each(tokens);
    const lists = Array.from(tokens, (_, i) => this.#listAt(tokens, told, i, names[i]));
    return listsOf(names, lists, offset);
  }

  #logprobsWithPrompt(
    prompt: Uint32Array,
    told: PromptLogProbs,
    response: Sampled,
  ) {
    const { tokens } = response;
    const names = [...this.#names.each(prompt), ...this.#names.each(tokens)];
    const lists = [
      ...Array.from(prompt, (_, i) => this.#listAt(prompt, told, i, names[i])),
      ...Array.from(
        tokens,
        (_, i) => this.#listAt(tokens, response, i, names[prompt.length + i]),
      ),
    ];
    return listsOf(names, lists, 0);
  }

  /** @param name what the token at the place is called there */
  #listAt(
    tokens: Uint32Array,
    told: Pick<Sampled, "logProbs" | "likeliest">,
    place: number,
    name: string,
  ): PlaceLogProbs | null {
    const neighbours = neighboursAt(tokens, told, place, this.asked.logprobs ?? 0);
    if (neighbours === null) return null;
    const top: Record<string, number> = {};
    for (const { token, logProb } of neighbours) {
      const key = token === tokens[place] ? name : this.#names.one(token);
      // Of tokens with one text the likeliest is told.
      top[key] = Math.max(top[key] ?? -Infinity, logProb);
    }
    return { logProb: finite(told.logProbs[place]), top };
  }

  #promptLogprobs(prompt: Uint32Array, told: PromptLogProbs | null) {
    if (told === null) return null;
    const k = this.asked.prompt_logprobs ?? 0;
    return Array.from(prompt, (_, place) => {
      const neighbours = neighboursAt(prompt, told, place, k);
      if (neighbours === null) return null;
      return Object.fromEntries(
        neighbours.map(({ token, logProb }, i) => [token, {
          logprob: logProb,
          // Beyond those that were asked for it is not known.
          rank: i < k ? i + 1 : null,
          decoded_token: this.#names.one(token),
        }]),
      );
    });
  }
}

interface PlaceLogProbs {
  readonly logProb: number;
  readonly top: Record<string, number>;
}

/** @param offset characters before the first of them */
function listsOf(
  names: string[],
  lists: readonly (PlaceLogProbs | null)[],
  offset: number,
) {
  let at = offset;
  return {
    tokens: names,
    token_logprobs: lists.map((list) => list?.logProb ?? null),
    top_logprobs: lists.map((list) => list?.top ?? null),
    text_offset: names.map((name) => {
      const start = at;
      at += name.length;
      return start;
    }),
  };
}

/** A request's prompts, each a text or ids. */
function promptsOf(prompt: CompletionRequest["prompt"]): (string | number[])[] {
  if (typeof prompt === "string") return [prompt];
  return typeof prompt[0] === "number" ? [prompt as number[]] : prompt as string[] | number[][];
}
