/** The models that can be asked for. */

import { createRoute, z } from "@hono/zod-openapi";
import { json } from "../http/route.ts";
import type { ModelNames } from "../serving/model_names.ts";
import type { Served } from "../serving/served_models.ts";
import { newOpenAiApi, openAiErrors } from "./error.ts";

const model = z.object({
  id: z.string(),
  object: z.literal("model"),
  created: z.int().describe("When it was opened, in seconds since 1970."),
  owned_by: z.string(),
  root: z.string().describe("Its folder or file."),
  parent: z.string().nullable().describe("The model that it is an adapter on."),
  max_model_len: z.int().describe("The most tokens of a prompt with its response."),
}).openapi("Model");

const list = createRoute({
  method: "get",
  path: "/v1/models",
  summary: "The models that can be asked for",
  responses: {
    200: json("All of them", z.object({ object: z.literal("list"), data: z.array(model) })),
  },
});

const one = createRoute({
  method: "get",
  // A name may have slashes in it.
  path: "/v1/models/{model}",
  summary: "One of them",
  request: {
    params: z.object({ model: z.string().openapi({ param: { name: "model", in: "path" } }) }),
  },
  responses: {
    200: json("It", model),
    ...openAiErrors(404),
  },
});

const health = createRoute({
  method: "get",
  path: "/health",
  summary: "Whether the server answers, as vLLM tells it",
  responses: { 200: { description: "It does" } },
});

/** The routes. */
export function modelListRoutes(models: ModelNames) {
  return newOpenAiApi()
    .openapi(list, (context) => {
      return context.json({ object: "list" as const, data: models.served.all.map(describe) }, 200);
    })
    .openapi(one, async (context) => {
      return context.json(describe(await models.find(context.req.valid("param").model)), 200);
    })
    .openapi(health, (context) => context.body(null, 200));
}

function describe({ name, path, parent, created, info: { maximumTokens } }: Served) {
  return {
    id: name,
    object: "model" as const,
    created,
    owned_by: "tango",
    root: path,
    parent,
    max_model_len: maximumTokens,
  };
}
