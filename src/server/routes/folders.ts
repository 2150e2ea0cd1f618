/** What lies in a run's folder: its configuration and its checkpoints. */

import { basename } from "node:path";
import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { listCheckpoints } from "../../run/store/checkpoint.ts";
import { RequestProblem } from "../http/problem.ts";
import { json, route } from "../http/route.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import { configurationInForce, configurationSchema } from "../runs/configuration_in_force.ts";
import type { ListedRun } from "../runs/run_list.ts";
import { fileInside, filesIn } from "../runs/folder_files.ts";
import { MOST_STEPS, newApi, numberParameter, requireRun, runParameter } from "./api.ts";

const config = route("get", "/api/runs/{id}/config", {
  summary: "The configuration as it is in force",
  params: runParameter,
  200: json(
    "The configuration with all that changed since the run began, and those changes.",
    configurationSchema,
  ),
  refuses: [404, 409],
});

const checkpointSchema = z.object({
  step: z.int(),
  bytes: z.number(),
  createdAt: z.string(),
  files: z.array(z.object({ path: z.string(), bytes: z.number() })),
});

/** A checkpoint with its files. */
export type ListedCheckpoint = z.infer<typeof checkpointSchema>;

const checkpoints = route("get", "/api/runs/{id}/checkpoints", {
  summary: "Checkpoints and their files",
  params: runParameter,
  200: json("Ascending.", z.object({ checkpoints: z.array(checkpointSchema) })),
  refuses: [404, 409],
});

const file = route("get", "/api/runs/{id}/checkpoints/{step}/files/{path}", {
  summary: "A file of a checkpoint",
  params: runParameter.extend({
    step: numberParameter(0, MOST_STEPS).openapi({ param: { name: "step", in: "path" } }),
    path: z.string().min(1).max(1000).openapi({ param: { name: "path", in: "path" } }),
  }),
  200: {
    description: "The file.",
    content: { "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) } },
  },
  refuses: [404, 409],
});

/** Routes of a run's folder. */
export function foldersRoutes(runs: AllRuns): OpenAPIHono {
  const api = newApi();
  api.openapi(config, (context) => {
    const run = requireRun(runs, context.req.valid("param").id);
    return context.json(configurationInForce(run), 200);
  });
  api.openapi(checkpoints, (context) => {
    const { folder } = requireRun(runs, context.req.valid("param").id);
    const found = listCheckpoints(folder.checkpoints).map(({ step, path }) => {
      const files = filesIn(path);
      return {
        step,
        bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
        createdAt: (Deno.statSync(path).mtime ?? new Date(0)).toISOString(),
        files,
      };
    });
    return context.json({ checkpoints: found }, 200);
  });
  // A file of a folder in it: the same, which OpenAPI cannot say.
  api.openapi(file, async (context) => {
    const { id, step, path } = context.req.valid("param");
    return await download(context.req.method, requireRun(runs, id), step, path) as never;
  });
  api.get("/api/runs/:id/checkpoints/:step{[0-9]+}/files/:path{.+}", async (context) => {
    const { id, step, path } = context.req.param();
    return await download(context.req.method, requireRun(runs, id), Number(step), path);
  });
  return api;
}

async function download(
  method: string,
  { folder }: ListedRun,
  step: number,
  path: string,
): Promise<Response> {
  const checkpoint = listCheckpoints(folder.checkpoints).find((one) => one.step === step);
  const found = checkpoint && fileInside(checkpoint.path, path);
  if (!found) throw new RequestProblem(404, "There is no such file in that checkpoint.");
  // The file is closed when it was read, which nobody does after HEAD.
  const opened = method === "HEAD" ? null : await Deno.open(found.path, { read: true });
  return new Response(opened?.readable ?? null, {
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(found.bytes),
      "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(basename(path))}`,
    },
  });
}
