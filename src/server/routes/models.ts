/** Models that runs can start from. */

import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi";
import { REPOSITORY_ID } from "../../hub/repository.ts";
import { problems } from "../http/problem.ts";
import { findModels } from "../models/found_models.ts";
import type { Pulls } from "../models/pulls.ts";
import { json, newApi } from "./api.ts";

const pullSchema = z.object({
  id: z.string(),
  path: z.string(),
  state: z.enum(["running", "done", "failed"]),
  arrived: z.number().describe("Bytes that are here, of those that were missing."),
  total: z.number().nullable().describe("Bytes that were missing; null before that is known."),
  error: z.string().nullable(),
}).openapi("Pull");

const listSchema = z.object({
  models: z.array(z.object({
    path: z.string(),
    kind: z.enum(["model", "adapter", "gguf"]),
    bytes: z.number().describe("Of its weights."),
  })),
  unread: z.array(z.object({ path: z.string(), reason: z.string() })).describe(
    "Folders that could not be looked into, in which there may be more.",
  ),
  pulls: z.array(pullSchema),
});

/** Models on the disk, and what is being fetched. */
export type ModelList = z.infer<typeof listSchema>;

const list = createRoute({
  method: "get",
  path: "/api/models",
  summary: "Models on the disk, and what is being fetched",
  responses: {
    200: json(
      "By path, which is what a configuration calls a model.",
      listSchema,
    ),
    ...problems(429),
  },
});

const begin = createRoute({
  method: "post",
  path: "/api/models/pull",
  summary: "Fetches a model from the Hugging Face Hub, or goes on with that",
  request: {
    body: {
      required: true,
      content: {
        "application/json": {
          schema: z.strictObject({
            id: z.string().max(200).regex(REPOSITORY_ID, "expected owner/name").describe(
              "owner/name",
            ),
            revision: z.string().min(1).max(200).optional().describe("Branch, tag or commit."),
            files: z.array(z.string().min(1).max(200)).max(50).optional().describe(
              "Globs; left out: what the engine needs.",
            ),
          }),
        },
      },
    },
  },
  responses: {
    202: json("It is under way; GET /api/models says how far.", pullSchema),
    ...problems(400, 408, 409, 413, 415, 422, 429),
  },
});

/** Routes of models. */
export function modelsRoutes(pulls: Pulls, folders: readonly string[]): OpenAPIHono {
  const api = newApi();
  api.openapi(
    list,
    (context) => context.json({ ...findModels(folders), pulls: pulls.all }, 200),
  );
  api.openapi(begin, (context) => {
    const { id, revision = "main", files = [] } = context.req.valid("json");
    return context.json(pulls.begin(id, revision, files), 202);
  });
  return api;
}
