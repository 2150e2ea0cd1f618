/** Token ids in, token ids out: no text between them can change what a response was. */

import { createRoute, z } from "@hono/zod-openapi";
import { json, jsonBody } from "../http/route.ts";
import type { ModelNames } from "../serving/model_names.ts";
import { AskedResponses, clientOf, finishOf, requestsOf } from "./ask.ts";
import { randomUUID } from "node:crypto";
import { newOpenAiApi, openAiErrors } from "./error.ts";
import { heldAnswer } from "./held_answer.ts";
import { NOT_BUILT, only } from "./passed_over.ts";
import { samplingFields, sharedSampling } from "./sampling_fields.ts";
import { finite } from "./token_names.ts";

const {
  stream: _stream,
  stream_options: _options,
  user: _user,
  return_token_ids: _ids,
  return_tokens_as_token_ids: _names,
  skip_special_tokens: _special,
  ...sampling
} = samplingFields;

const generateRequest = z.strictObject({
  model: z.string().nullish(),
  token_ids: z.array(z.int().min(0).max(2 ** 31 - 1)).min(1),
  sampling_params: z.strictObject({
    ...sampling,
    max_tokens: z.int().min(1).nullish().describe("What the model's positions leave, by default."),
    logprobs: z.int().min(0).max(1, NOT_BUILT).nullish().describe("Of the tokens themselves."),
    skip_special_tokens: z.boolean().nullish().describe("There is no text to leave them out of."),
  }),
  stream: only(false),
  request_id: z.string().max(200).nullish(),
  cache_salt: z.string().nullish().describe("What is cached is of one machine's clients alone."),
  priority: only(0),
});

const generate = createRoute({
  method: "post",
  path: "/inference/v1/generate",
  summary: "Token ids that go on from token ids, as vLLM has it",
  request: { body: jsonBody(generateRequest) },
  responses: {
    200: json(
      "The response",
      z.object({
        request_id: z.string(),
        choices: z.array(z.object({
          index: z.int(),
          token_ids: z.array(z.int()),
          logprobs: z.object({
            content: z.array(z.object({ token: z.string(), logprob: z.number() })),
          }).nullable(),
          finish_reason: z.string(),
        })),
        prompt_token_ids: z.array(z.int()),
      }),
    ),
    ...openAiErrors(400, 404, 413, 415, 429, 503),
  },
});

/** The route. */
export function generateRoutes(models: ModelNames) {
  return newOpenAiApi()
    .openapi(generate, async (context) => {
      const { model, token_ids, sampling_params, request_id } = context.req.valid("json");
      const served = await models.find(model);
      const prompt = Uint32Array.from(token_ids);
      const { n, max_tokens: most } = sampling_params;
      const shared = sharedSampling(sampling_params, served.text.stopTokens);
      const asked = { prompts: [prompt], field: "token_ids", shared, n, most, told: {} };
      const requests = requestsOf(served, asked);
      const asking = new AskedResponses(served, clientOf(context), context.req.raw.signal);
      const answer = async () => ({
        request_id: request_id ?? randomUUID(),
        choices: (await asking.all(requests)).map((response, index) => ({
          index,
          token_ids: Array.from(response.tokens),
          logprobs: sampling_params.logprobs == null ? null : {
            content: Array.from(response.tokens, (token, i) => ({
              token: `token_id:${token}`,
              logprob: finite(response.logProbs[i]),
            })),
          },
          finish_reason: finishOf(response).finish_reason,
        })),
        prompt_token_ids: token_ids,
      });
      return await heldAnswer(answer(), () => asking.end()) as never; // the library types its own
    });
}
