/** Models that runs can start from. */

import { z } from "@hono/zod-openapi";
import { basename, join } from "node:path";
import { RequestProblem } from "../http/problem.ts";
import { gone, json, jsonBody, route } from "../http/route.ts";
import { tarBytes, tarStream } from "../http/tar_stream.ts";
import { isAllowed } from "../launches/allowed_paths.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import type { LaunchStore } from "../launches/launch_store.ts";
import { usersOf } from "../launches/path_users.ts";
import type { CataloguedModel, ModelCatalog } from "../models/model_catalog.ts";
import {
  listSchema,
  type modelSchema,
  pullRequestSchema,
  pullSchema,
} from "../models/model_schemas.ts";
import type { Pulls } from "../models/pulls.ts";
import type { ServedModels } from "../serving/served_models.ts";
import { newApi } from "./api.ts";

const list = route("get", "/api/models", {
  summary: "Models, adapters and checkpoints on the disk, and what is being fetched",
  200: json(
    "By path, then checkpoints by run.",
    listSchema,
  ),
});

const nameQuery = z.object({
  name: z.string().min(1).max(1000).describe("Name or path of GET /api/models."),
});

const download = route("get", "/api/models/download", {
  summary:
    "All files of a model, an adapter or a checkpoint, as a tar archive; of a GGUF file itself",
  query: nameQuery,
  200: {
    description: "The archive.",
    content: { "application/x-tar": { schema: z.string().openapi({ format: "binary" }) } },
  },
  refuses: [404],
});

const remove = route("delete", "/api/models", {
  summary: "Removes a model, an adapter or a checkpoint",
  query: nameQuery,
  ...gone,
  refuses: [404, 409],
});

const begin = route("post", "/api/models/pull", {
  summary: "Fetches a model from the Hugging Face Hub, or goes on with that",
  body: jsonBody(pullRequestSchema("what the engine needs")),
  202: json("It is under way; GET /api/models says how far.", pullSchema),
  refuses: [409],
});

/** What routes of models are about. */
export interface ServedCatalog {
  readonly catalog: ModelCatalog;
  readonly pulls: Pulls;
  readonly served: ServedModels;
  readonly runs: AllRuns;
  readonly launches: LaunchStore;
  /** What may be removed lies in these. */
  readonly own: readonly string[];
}

/** Routes of models. */
export function modelsRoutes({ catalog, pulls, served, runs, launches, own }: ServedCatalog) {
  const isOwn = (path: string) => isAllowed(path, own) && !own.includes(path);
  const view = (model: CataloguedModel): z.infer<typeof modelSchema> => ({
    ...model,
    served: served.all.find(({ path }) => path === model.path)?.name ?? null,
    isOwn: isOwn(model.path),
  });
  const require = async (name: string): Promise<CataloguedModel> => {
    const found = await catalog.find(name);
    if (found) return found;
    throw new RequestProblem(
      404,
      `There is no model ${JSON.stringify(name.slice(0, 100))}.`,
      "name",
    );
  };
  return newApi()
    .openapi(list, async (context) => {
      const { models, unread } = await catalog.all();
      return context.json({ models: models.map(view), unread, pulls: pulls.all }, 200);
    })
    .openapi(begin, (context) => {
      const { id, revision = "main", files = [] } = context.req.valid("json");
      return context.json(pulls.begin(id, revision, files), 202);
    })
    .openapi(download, async (context) => {
      const found = await require(context.req.valid("query").name);
      return downloadOf(found, context.req.method === "HEAD") as never; // a stream of bytes, which the library cannot type
    })
    .openapi(remove, async (context) => {
      const found = await require(context.req.valid("query").name);
      const { path, kind } = found;
      if (!isOwn(path)) {
        throw new RequestProblem(
          409,
          `${path} lies in none of ${own.join(", ")}: remove it yourself.`,
        );
      }
      const [user] = usersOf(path, runs, launches);
      if (user) throw new RequestProblem(409, `The run ${user} uses it: stop that first.`);
      const { models: others } = await catalog.all();
      const above = others.find((one) =>
        one.path !== path && isAllowed(one.base ?? one.path, [path])
      );
      if (above) throw new RequestProblem(409, `${above.path} needs it: remove that first.`);
      for (const one of others.filter((one) => one.path === path)) {
        await served.close(one.name, path);
      }
      Deno.removeSync(path, { recursive: kind !== "gguf" });
      return context.body(null, 204);
    });
}

function downloadOf({ path, kind, run, step, files }: CataloguedModel, isHead: boolean): Response {
  const name = kind === "checkpoint" ? `${run}-step-${step}` : basename(path);
  const place = (file: string) => kind === "gguf" ? path : join(path, file);
  const archived = files.map((file) => (
    { name: `${name}/${file.path}`, path: place(file.path), bytes: file.bytes }
  ));
  const isFile = kind === "gguf";
  const body = isHead ? null : isFile ? Deno.openSync(path).readable : tarStream(archived);
  const fileName = isFile ? name : `${name}.tar`;
  return new Response(body, {
    headers: {
      "content-type": isFile ? "application/octet-stream" : "application/x-tar",
      "content-length": String(isFile ? files[0].bytes : tarBytes(archived)),
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(fileName)}`,
    },
  });
}
