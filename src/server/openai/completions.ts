/** Completions of texts or token ids. */

import { z } from "@hono/zod-openapi";
import type { PromptLogProbs, SampledTokens } from "../../engine/sampling/request.ts";
import { RequestProblem } from "../http/problem.ts";
import type { ModelNames } from "../serving/model_names.ts";
import type { Served } from "../serving/served_models.ts";
import { openVerifierBeside, type VerifierBeside } from "../serving/verifier_beside.ts";
import { type ChoiceOf, type CompletionAnswer, completionAnswer } from "./answers.ts";
import { requestsOf } from "./ask.ts";
import { chooserOf, chosenPlaces, MOST_TO_CHOOSE_FROM } from "./best_of.ts";
import { newOpenAiApi } from "./error.ts";
import { only } from "./passed_over.ts";
import { reply, replyFields, replyRoute, type ReplyShape } from "./reply.ts";
import { sharedSampling } from "./sampling_fields.ts";
import { finite, neighboursAt, TokenNames } from "./token_names.ts";

const MOST_PROMPTS = 2048;
const MOST_LIKELIEST = 20;
/** The length of a response to a request that does not say it. */
const DEFAULT_TOKENS = 16;

const ids = z.array(z.int().min(0).max(2 ** 31 - 1));
const likeliest = z.int().min(0).max(MOST_LIKELIEST).nullish();

const completionRequest = z.strictObject({
  prompt: z.union([z.string(), ids.min(1), z.array(z.string()).min(1), z.array(ids).min(1)]),
  max_tokens: z.int().min(0).nullish().describe(`${DEFAULT_TOKENS} by default.`),
  echo: z.boolean().nullish().describe("Whether the prompt comes before the response."),
  logprobs: likeliest.describe("The likeliest tokens told beside each; 0: its own log-prob alone."),
  prompt_logprobs: likeliest,
  add_special_tokens: only(false),
  best_of: z.int().min(1).max(MOST_TO_CHOOSE_FROM).nullish().describe(
    "Responses to each prompt of which the n best are told, the best first. By the verifier of the model's run where " +
      "it has one and the prompts are its questions, else by the highest log-prob per token; `chosen_by` says which.",
  ),
  suffix: only(""),
  ...replyFields,
});

type CompletionRequest = z.infer<typeof completionRequest>;

const completions = replyRoute(
  "/v1/completions",
  "Texts that go on from prompts",
  completionRequest,
  "The completion",
  completionAnswer,
);

/** The route of OpenAI's completions, with vLLM's fields. */
export function completionRoutes(models: ModelNames) {
  return newOpenAiApi()
    .openapi(completions, async (context) => {
      const asked = context.req.valid("json");
      const served = await models.find(asked.model);
      const verifier = choosesFrom(asked) === null
        ? null
        : await openVerifierBeside(served, models);
      const shape = completionReply(served, asked, verifier);
      return await reply(context, served, asked, shape) as never; // the library knows no streams of events
    });
}

/**
 * How many responses to a prompt some are chosen from; null where none are chosen.
 *
 * @throws RequestProblem when there is nothing to choose, or the choice would be streamed before it is made
 */
function choosesFrom({ best_of, n, stream }: CompletionRequest): number | null {
  // Clients send 1 by themselves.
  if (best_of == null || best_of === 1) return null;
  const refuse = (message: string): never => {
    throw new RequestProblem(400, `best_of: ${message}`, "best_of");
  };
  if (best_of < (n ?? 1)) refuse(`it is ${best_of}; expected at least n, which is ${n}.`);
  if (stream) refuse("the best are known when all have ended; leave out stream.");
  return best_of;
}

/**
 * Each prompt with n responses.
 *
 * @param verifier that chooses among them, if it is asked
 * @throws RequestProblem when it cannot be had
 */
function completionReply(
  served: Served,
  asked: CompletionRequest,
  verifier: VerifierBeside | null,
): ReplyShape<ChoiceOf<CompletionAnswer>> {
  const { text: { tokenizer, stopTokens } } = served;
  const { echo, logprobs, prompt_logprobs, max_tokens } = asked;
  const n = asked.n ?? 1;
  const bestOf = choosesFrom(asked);
  const each = bestOf ?? n;
  const given = promptsOf(asked.prompt);
  if (given.length * each > MOST_PROMPTS) {
    const message = `prompt: at most ${MOST_PROMPTS} responses are asked for at once.`;
    throw new RequestProblem(400, message, "prompt");
  }
  const prompts = given.map((one) =>
    typeof one === "string" ? tokenizer.encode(one) : Uint32Array.from(one)
  );
  const shared = sharedSampling(asked, stopTokens);
  const tellsPrompt = prompt_logprobs != null || (echo === true && logprobs != null);
  const requests = requestsOf(served, {
    ...{ prompts, field: "prompt", shared, n: each },
    most: Math.max(1, max_tokens ?? DEFAULT_TOKENS),
    told: {
      likeliest: logprobs ?? 0,
      promptLogProbs: tellsPrompt,
      promptLikeliest: Math.max(prompt_logprobs ?? 0, echo ? logprobs ?? 0 : 0),
    },
  });
  if (asked.stream && tellsPrompt) {
    const message = "stream: log-probs of the prompt are not streamed; leave one of them out.";
    throw new RequestProblem(400, message, "stream");
  }
  const texts = given.map((one) => typeof one === "string" ? one : tokenizer.decode(one));
  const textBefore = (place: number) => echo ? texts[Math.floor(place / n)] : "";
  const names = new TokenNames(tokenizer, asked.return_tokens_as_token_ids ?? false);
  const asTexts = new TokenNames(tokenizer, false);
  const textWithSpecials = (tokens: Uint32Array) => asTexts.each(tokens).join("");
  const chooser = bestOf === null ? null : chooserOf(verifier, prompts.map(textWithSpecials));
  return {
    ...(chooser === null ? {} : {
      async choose(responses, said, ask) {
        const promptOf = (place: number) => Math.floor(place / each);
        return chosenPlaces(
          await chooser.score(responses, said, promptOf, ask),
          prompts.length,
          n,
        );
      },
      others: { chosen_by: chooser.rule },
    }),
    id: "cmpl",
    objects: { whole: "text_completion", piece: "text_completion" },
    ...{ prompts, shared, requests },
    choice(response, text, place) {
      const prompt = prompts[Math.floor(place / n)];
      const before = textBefore(place);
      const { prompt: told } = response;
      return {
        text: before + text,
        logprobs: echo && told
          ? logProbLists(names, logprobs ?? 0, 0, [{ ...told, tokens: prompt }, response])
          : logprobs == null
          ? null
          : logProbLists(names, logprobs, before.length, [response]),
        ...(prompt_logprobs == null
          ? {}
          : { prompt_logprobs: told && promptLogProbs(names, prompt_logprobs, prompt, told) }),
        ...(asked.return_token_ids ? { prompt_token_ids: Array.from(prompt) } : {}),
      };
    },
    piece: (next, text, { characters }) => ({
      text,
      logprobs: next && logprobs != null ? logProbLists(names, logprobs, characters, [next]) : null,
    }),
    ...(echo ? { opening: (place) => ({ text: textBefore(place), logprobs: null }) } : {}),
  };
}

/**
 * Log-probs of texts that follow one another.
 *
 * @param k the likeliest tokens told beside each
 * @param offset characters before the first of them
 */
function logProbLists(
  names: TokenNames,
  k: number,
  offset: number,
  parts: readonly SampledTokens[],
) {
  const places = parts.flatMap((told) =>
    names.each(told.tokens).map((name, place) => {
      const neighbours = neighboursAt(told.tokens, told, place, k);
      if (neighbours === null) return { name, logProb: null, top: null };
      const top: Record<string, number> = {};
      for (const { token, logProb } of neighbours) {
        const key = token === told.tokens[place] ? name : names.one(token);
        // Of tokens with one text the likeliest is told.
        top[key] = Math.max(top[key] ?? -Infinity, logProb);
      }
      return { name, logProb: finite(told.logProbs[place]), top };
    })
  );
  let at = offset;
  return {
    tokens: places.map(({ name }) => name),
    token_logprobs: places.map(({ logProb }) => logProb),
    top_logprobs: places.map(({ top }) => top),
    text_offset: places.map(({ name }) => (at += name.length) - name.length),
  };
}

/** @param k the likeliest tokens told at each place */
function promptLogProbs(names: TokenNames, k: number, prompt: Uint32Array, told: PromptLogProbs) {
  return Array.from(prompt, (_, place) => {
    const neighbours = neighboursAt(prompt, told, place, k);
    if (neighbours === null) return null;
    return Object.fromEntries(
      neighbours.map(({ token, logProb }, i) => [token, {
        logprob: logProb,
        // Beyond those that were asked for it is not known.
        rank: i < k ? i + 1 : null,
        decoded_token: names.one(token),
      }]),
    );
  });
}

/** A request's prompts, each a text or ids. */
function promptsOf(prompt: CompletionRequest["prompt"]): (string | number[])[] {
  if (typeof prompt === "string") return [prompt];
  return typeof prompt[0] === "number" ? [prompt as number[]] : prompt as string[] | number[][];
}
