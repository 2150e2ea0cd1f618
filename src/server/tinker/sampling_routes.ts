/** Sampling from a client's models and from served ones. */

import { randomInt, randomUUID } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { UserError } from "../../base/user_error.ts";
import type { LikeliestTokens, Response } from "../../engine/sampling/request.ts";
import { streams } from "../../random/philox.ts";
import { RequestProblem } from "../http/problem.ts";
import { AskedResponses } from "../openai/ask.ts";
import type { RemoteRequest } from "../serving/messages.ts";
import { newApi } from "../routes/api.ts";
import { at, count, inPath, name, post, type Tinker } from "./api.ts";
import { checkpointAddress } from "./checkpoints.ts";
import { digest } from "./numbered.ts";
import { once } from "./once.ts";
import type { SamplingSession, Session } from "./sessions.ts";
import { arrayBytes } from "./wire/arrays.ts";
import { SampleResponseSchema, StopReason } from "./wire/tinker_pb.ts";

/** The most responses of a request. */
const MOST_SAMPLES = 1024;
const MOST_LIKELIEST = 20;
/** What a row of likeliest tokens holds where nothing is known, as the SDK reads it. */
const NO_TOKEN = { id: 0, logProb: -99999 };

const asksSession = z.looseObject({
  session_id: name,
  sampling_session_seq_id: count,
  base_model: name.nullish(),
  model_path: z.string().nullish(),
});

const NOT_BUILT = "this is not built; leave it out";

const asksSamples = z.looseObject({
  sampling_session_id: name,
  seq_id: count,
  num_samples: z.int().min(1).max(MOST_SAMPLES).nullish(),
  prompt: z.looseObject({
    chunks: z.array(z.looseObject({
      type: z.string(),
      tokens: z.array(z.int().min(0).max(2 ** 31 - 1)).nullish(),
    })),
  }),
  sampling_params: z.looseObject({
    max_tokens: z.int().nullish(),
    temperature: z.number().nullish(),
    top_k: z.int().nullish(),
    top_p: z.number().nullish(),
    seed: z.int().nullish(),
    stop: z.union([z.string(), z.array(z.string()), z.array(z.int().min(0))]).nullish(),
  }).nullish(),
  prompt_logprobs: z.boolean().nullish(),
  topk_prompt_logprobs: z.int().min(0).max(MOST_LIKELIEST).nullish(),
  topk_sample_logprobs: z.int().min(0).max(MOST_LIKELIEST).nullish(),
  prompt_alt_tokens_k: z.literal(0, { error: NOT_BUILT }).nullish(),
  target_prompt_logprobs: z.null({ error: NOT_BUILT }).optional(),
});
type AsksSamples = z.output<typeof asksSamples>;

/** The routes. */
export function samplingRoutes({ sessions, futures, served, checkpoints }: Tinker): OpenAPIHono {
  const api = newApi();

  post(api, "create_sampling_session", "Something to sample from", asksSession, (asked) => {
    const session = sessions.get(asked.session_id);
    const id = `${session.id}:sample:${asked.sampling_session_seq_id}`;
    return once(session, id, digest(asked), () => {
      session.samplings.set(id, { id, ...sampledFrom(asked) });
      return { type: "create_sampling_session", sampling_session_id: id };
    });
  });

  const sampledFrom = ({ base_model, model_path }: z.output<typeof asksSession>) => {
    if (model_path == null) {
      const base = served.find(base_model);
      return { served: base, adapter: base.adapter, address: null };
    }
    const saved = checkpoints.find(model_path);
    const facts = checkpoints.factsOf(saved.modelId);
    if (facts === null) {
      throw new RequestProblem(
        404,
        `${model_path}: its run.json is missing or damaged.`,
        "model_path",
      );
    }
    return {
      served: served.find(facts.base_model),
      adapter: saved.folder,
      address: checkpointAddress(saved),
    };
  };

  post(api, "asample", "Asks for responses to a prompt", asksSamples, (asked) => {
    const { session, sampling } = sessions.sampling(asked.sampling_session_id);
    sampling.served.model.expectRoom();
    const key = `${sampling.id}:${asked.seq_id}`;
    return once(session, key, digest(asked), () => ({
      request_id: futures.add(session.id, sampled(sampling, session, asked)),
      sample_sequence_ids: Array.from({ length: asked.num_samples ?? 1 }, () => randomUUID()),
    }));
  });

  const one = z.object({ id: inPath("id") });
  at(api, "get", "samplers/{id}", "What is sampled from", { params: one }, ({ id }) => {
    const { sampling } = sessions.sampling(id);
    const { served: { name: base_model }, address } = sampling;
    return { sampler_id: sampling.id, base_model, ...(address ? { model_path: address } : {}) };
  });
  return api;
}

async function sampled(
  { served, adapter }: SamplingSession,
  { id: client, ended }: Session,
  asked: AsksSamples,
): Promise<{ readonly protobuf: Uint8Array }> {
  const prompt = promptOf(asked);
  const { text: { stopTokens }, model } = served;
  const params = asked.sampling_params ?? {};
  const temperature = params.temperature ?? 1;
  const seed = params.seed == null ? randomInt(2 ** 48 - 1) : seedOf(params.seed);
  const maximumResponse = params.max_tokens ?? served.info.maximumTokens - prompt.length;
  // Log-probs are those of the untempered distribution, which training computes too; the sampler knows them where it
  // samples from that one, or from its likeliest tokens.
  const isPlain = temperature === 1 || temperature === 0;
  const topSampled = asked.topk_sample_logprobs ?? 0;
  const topPrompt = asked.topk_prompt_logprobs ?? 0;
  const base = {
    ...{ stream: streams.served, step: 0, seed },
    ...{ temperature, topK: Math.max(0, params.top_k ?? 0), topP: params.top_p ?? 1, minP: 0 },
    ...stopsOf(params.stop, stopTokens),
    ...{ prompt, maximumResponse, likeliest: isPlain ? topSampled : 0 },
  };
  const requests = Array.from({ length: asked.num_samples ?? 1 }, (_, sequenceId) => {
    const tellsPrompt = sequenceId === 0 && (asked.prompt_logprobs === true || topPrompt > 0);
    return {
      ...{ ...base, sequenceId },
      ...{ promptLogProbs: tellsPrompt, promptLikeliest: tellsPrompt ? topPrompt : 0 },
    };
  });
  const asking = new AskedResponses({ model, adapter }, client, ended);
  let responses: readonly Response[];
  try {
    responses = await asking.all(requests);
    if (!isPlain) responses = await untempered(responses, base, topSampled, asking);
  } finally {
    asking.end();
  }
  const { prompt: told, cachedTokens } = responses[0];
  const message = create(SampleResponseSchema, {
    sequences: responses.map((response) => ({
      stopReason: response.end.reason === "length" ? StopReason.LENGTH : StopReason.STOP,
      tokens: arrayBytes(Int32Array.from(response.tokens)),
      logprobs: arrayBytes(response.logProbs),
      ...(topSampled > 0 ? { topkSampledLogprobs: topkOf(response.likeliest) } : {}),
    })),
    promptCacheHitTokens: cachedTokens,
    ...(asked.prompt_logprobs && told ? { promptLogprobs: arrayBytes(told.logProbs) } : {}),
    ...(topPrompt > 0 && told ? { topkPromptLogprobs: topkOf(told.likeliest) } : {}),
  });
  return { protobuf: toBinary(SampleResponseSchema, message) };
}

/** Responses with the log-probs of their tokens at temperature 1, for which the model reads them once more. */
async function untempered(
  responses: readonly Response[],
  request: Omit<RemoteRequest, "sequenceId">,
  likeliest: number,
  asking: AskedResponses,
): Promise<Response[]> {
  const { prompt } = request;
  const read = await asking.all(responses.map(({ tokens }, sequenceId) => ({
    ...request,
    ...{ temperature: 1, topK: 0, topP: 1, minP: 0, likeliest: 0, sequenceId },
    prompt: Uint32Array.from([...prompt, ...tokens]),
    maximumResponse: 0,
    promptLogProbs: true,
    promptLikeliest: likeliest,
  })));
  return responses.map((response, r) => {
    const { prompt: told } = read[r];
    if (told === null) return response; // it was given up
    const { logProbs, likeliest: rows } = told;
    return {
      ...response,
      logProbs: logProbs.slice(prompt.length),
      likeliest: rows && {
        k: rows.k,
        tokens: rows.tokens.slice(rows.k * prompt.length),
        logProbs: rows.logProbs.slice(rows.k * prompt.length),
      },
    };
  });
}

function topkOf(rows: LikeliestTokens | null) {
  if (rows === null) return undefined;
  const { k, tokens, logProbs } = rows;
  const ids = Int32Array.from(
    tokens,
    (token, i) => Number.isNaN(logProbs[i]) ? NO_TOKEN.id : token,
  );
  const known = logProbs.map((value) => Number.isNaN(value) ? NO_TOKEN.logProb : value);
  return {
    ...{ tokenIds: arrayBytes(ids), logprobs: arrayBytes(known), k, length: tokens.length / k },
  };
}

/** @throws UserError when there is something else than tokens in it */
function promptOf({ prompt: { chunks } }: AsksSamples): Uint32Array {
  return Uint32Array.from(chunks.flatMap(({ type, tokens }, c) => {
    if (type === "encoded_text" && tokens) return tokens;
    throw new UserError(
      `prompt.chunks[${c}]: ${JSON.stringify(type)}; only encoded_text is supported.`,
    );
  }));
}

/** Where a response ends: nowhere with an empty list, else at the model's own end as well. */
function stopsOf(
  stop: string | readonly (string | number)[] | null | undefined,
  own: readonly number[],
): Pick<RemoteRequest, "stopTokens" | "stopStrings"> {
  if (stop == null) return { stopTokens: own, stopStrings: [] };
  const all = typeof stop === "string" ? [stop] : stop;
  if (all.length === 0) return { stopTokens: [], stopStrings: [] };
  const ids = all.filter((one) => typeof one === "number");
  const texts = all.filter((one) => typeof one === "string");
  return { stopTokens: [...own, ...ids], stopStrings: texts };
}

/** Any whole number, as the sampler takes it. */
const seedOf = (seed: number): number =>
  seed >= 0 ? seed : Number.MAX_SAFE_INTEGER + Math.max(seed, -Number.MAX_SAFE_INTEGER);
