/** What lies in a run's folder: its configuration and its checkpoints. */

import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi";
import { parse } from "yaml";
import {
  changeableSftKeys,
  changeableTangoKeys,
  type Settings,
} from "../../run/config/changeable.ts";
import { readJsonLines } from "../../run/store/json_lines_log.ts";
import type { ConfigChange } from "../../run/control/config_history.ts";
import { exists } from "../../base/atomic_file.ts";
import { listCheckpoints } from "../../run/store/checkpoint.ts";
import { problems, RequestProblem } from "../http/problem.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import type { ListedRun } from "../runs/run_list.ts";
import { fileInside, filesIn } from "../runs/folder_files.ts";
import { json, MOST_STEPS, newApi, numberParameter, requireRun, runParameter } from "./api.ts";

const value = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const config = createRoute({
  method: "get",
  path: "/api/runs/{id}/config",
  summary: "The configuration as it is in force",
  request: { params: runParameter },
  responses: {
    200: json(
      "The configuration that the run began with, and what changed since.",
      z.object({
        configuration: z.record(z.string(), z.unknown()),
        changeable: z.record(z.string(), value).describe(
          "What can change, with the value in force.",
        ),
        changes: z.array(
          z.object({
            step: z.int(),
            settings: z.record(z.string(), z.union([z.string(), z.number()])),
          }),
        ),
      }),
    ),
    ...problems(404, 409, 422, 429),
  },
});

const checkpoints = createRoute({
  method: "get",
  path: "/api/runs/{id}/checkpoints",
  summary: "Checkpoints and their files",
  request: { params: runParameter },
  responses: {
    200: json(
      "Ascending.",
      z.object({
        checkpoints: z.array(z.object({
          step: z.int(),
          bytes: z.number(),
          createdAt: z.string(),
          files: z.array(z.object({ path: z.string(), bytes: z.number() })),
        })),
      }),
    ),
    ...problems(404, 409, 422, 429),
  },
});

const file = createRoute({
  method: "get",
  path: "/api/runs/{id}/checkpoints/{step}/files/{path}",
  summary: "A file of a checkpoint",
  request: {
    params: runParameter.extend({
      step: numberParameter(0, MOST_STEPS).openapi({ param: { name: "step", in: "path" } }),
      path: z.string().min(1).max(1000).openapi({ param: { name: "path", in: "path" } }),
    }),
  },
  responses: {
    200: {
      description: "The file.",
      content: { "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) } },
    },
    ...problems(404, 409, 422, 429),
  },
});

/** Routes of a run's folder. */
export function foldersRoutes(runs: AllRuns): OpenAPIHono {
  const api = newApi();
  api.openapi(config, (context) => {
    const run = requireRun(runs, context.req.valid("param").id);
    return context.json(configurationOf(run), 200);
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
    return await download(requireRun(runs, id), step, path) as never;
  });
  api.get("/api/runs/:id/checkpoints/:step{[0-9]+}/files/:path{.+}", async (context) => {
    const { id, step, path } = context.req.param();
    return await download(requireRun(runs, id), Number(step), path);
  });
  return api;
}

async function download({ folder }: ListedRun, step: number, path: string): Promise<Response> {
  const checkpoint = listCheckpoints(folder.checkpoints).find((one) => one.step === step);
  const found = checkpoint && fileInside(checkpoint.path, path);
  if (!found) throw new RequestProblem(404, "There is no such file in that checkpoint.");
  const opened = await Deno.open(found.path, { read: true });
  return new Response(opened.readable, {
    headers: {
      "content-type": "application/octet-stream",
      "content-length": String(found.bytes),
      "content-disposition": `attachment; filename*=UTF-8''${
        encodeURIComponent(path.split("/").at(-1) ?? "")
      }`,
    },
  });
}

/** The configuration of a run, what changed in it and what may. */
export function configurationOf({ folder, kind, comparison }: ListedRun): {
  configuration: Record<string, unknown>;
  changeable: Record<string, string | number | boolean | null>;
  changes: { step: number; settings: Settings }[];
} {
  const configuration = parse(Deno.readTextFileSync(folder.configuration)) as Record<
    string,
    unknown
  >;
  const changes = exists(folder.history) ? readJsonLines<ConfigChange>(folder.history) : [];
  const inForce = Object.assign({}, ...changes.map(({ settings }) => settings)) as Settings;
  // All runs of a comparison have one configuration.
  const keys = kind === "compare" || comparison !== null
    ? []
    : kind === "sft"
    ? changeableSftKeys
    : changeableTangoKeys;
  const changeable = Object.fromEntries(keys.flatMap((key) => {
    const value = inForce[key] ?? valueAt(configuration, key.split("."));
    return isPlain(value) ? [[key, value]] : [];
  }));
  return { configuration, changeable, changes };
}

function valueAt(value: unknown, [key, ...keys]: readonly string[]): unknown {
  if (key === undefined) return value;
  if (typeof value !== "object" || value === null) return undefined;
  return valueAt((value as Record<string, unknown>)[key], keys);
}

function isPlain(value: unknown): value is string | number | boolean | null {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}
