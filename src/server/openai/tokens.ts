/** A model's tokenizer over HTTP, as vLLM has it and lm-evaluation-harness asks for it. */

import { createRoute, z } from "@hono/zod-openapi";
import { RequestProblem } from "../http/problem.ts";
import { json, jsonBody } from "../http/route.ts";
import type { ModelNames } from "../serving/model_names.ts";
import { chatMessages, chatPrompt, promptFields } from "./chat.ts";
import { newOpenAiApi, openAiErrors } from "./error.ts";

const ids = z.array(z.int().min(0).max(2 ** 31 - 1));

const answers = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  200: json(description, schema),
  ...openAiErrors(400, 404, 413, 415),
});

const tokenize = createRoute({
  method: "post",
  path: "/tokenize",
  summary: "The token ids of a text, or of a conversation",
  request: {
    body: jsonBody(z.strictObject({
      model: z.string().nullish(),
      prompt: z.string().nullish().describe(
        "The text of a special token becomes that token.",
      ),
      messages: chatMessages.nullish(),
      ...promptFields,
      add_special_tokens: z.boolean().nullish().describe(
        "None are added but by a template, whatever is said.",
      ),
    })),
  },
  responses: answers(
    "Ids",
    z.object({ count: z.int(), max_model_len: z.int(), tokens: ids }),
  ),
});

const detokenize = createRoute({
  method: "post",
  path: "/detokenize",
  summary: "The text of token ids, without special tokens",
  request: { body: jsonBody(z.strictObject({ model: z.string().nullish(), tokens: ids })) },
  responses: answers("Text", z.object({ prompt: z.string() })),
});

const tokenizerInfo = createRoute({
  method: "get",
  path: "/tokenizer_info",
  summary: "The tokenizer's special tokens and chat template",
  request: { query: z.object({ model: z.string().optional() }) },
  responses: answers(
    "What tokenizer_config.json says, as far as it is known",
    z.looseObject({
      eos_token: z.string().nullable(),
      bos_token: z.string().nullable(),
      pad_token: z.string().nullable(),
      chat_template: z.string().nullable(),
    }),
  ),
});

/** The routes. */
export function tokenRoutes(models: ModelNames) {
  return newOpenAiApi()
    .openapi(tokenize, async (context) => {
      const { model, prompt, messages, ...others } = context.req.valid("json");
      const served = await models.find(model);
      if ((prompt == null) === (messages == null)) {
        throw new RequestProblem(400, "prompt: give either prompt or messages.", "prompt");
      }
      const tokens = messages == null
        ? served.text.tokenizer.encode(prompt ?? "")
        : chatPrompt(served, { messages, ...others });
      const max_model_len = served.info.maximumTokens;
      return context.json({ count: tokens.length, max_model_len, tokens: Array.from(tokens) }, 200);
    })
    .openapi(detokenize, async (context) => {
      const { model, tokens } = context.req.valid("json");
      const { text: { tokenizer, config: { vocabularySize } } } = await models.find(model);
      const unknown = tokens.find((token) => token >= vocabularySize);
      if (unknown !== undefined) {
        const message = `tokens: ${unknown} is none; the model has ${vocabularySize}.`;
        throw new RequestProblem(400, message, "tokens");
      }
      return context.json({ prompt: tokenizer.decode(tokens) }, 200);
    })
    .openapi(tokenizerInfo, async (context) => {
      const { text: { tokenizer } } = await models.find(context.req.valid("query").model);
      const { chat_template } = tokenizer.settings;
      return context.json({
        tokenizer_class: "PreTrainedTokenizerFast",
        eos_token: tokenizer.specialText("eos_token"),
        bos_token: tokenizer.specialText("bos_token"),
        pad_token: tokenizer.specialText("pad_token"),
        chat_template: typeof chat_template === "string" ? chat_template : null,
      }, 200);
    });
}
