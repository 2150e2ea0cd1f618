/** A checkpoint, an adapter or a file becomes a model in a folder of its own. */

import { z } from "@hono/zod-openapi";
import { join } from "node:path";
import { exists } from "../../base/atomic_file.ts";
import { savedTypes } from "../../model/weights/model_files.ts";
import type { SavedType } from "../../model/weights/model_files.ts";
import { RequestProblem } from "../http/problem.ts";
import { json, jsonBody, route } from "../http/route.ts";
import { type Jobs, jobSchema } from "../models/jobs.ts";
import type { CataloguedModel, ModelCatalog } from "../models/model_catalog.ts";
import type { RunList } from "../runs/run_list.ts";
import { newApi } from "./api.ts";
import { jobRoutes } from "./jobs.ts";

const types = Object.keys(savedTypes) as [SavedType, ...SavedType[]];

const exported = z.strictObject({
  model: z.string().min(1).max(1000).describe("Name of /api/models, such as RUN/generator@40."),
  output: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/).describe("Name of the new model."),
  adapter: z.boolean().default(false).describe(
    "The adapter alone, as PEFT has it; else it is merged into its base.",
  ),
  dtype: z.enum(types).default("bfloat16").describe("Number format of a whole model's weights."),
});

const begin = route("post", "/api/exports", {
  summary: "Writes what a checkpoint has, or an adapter with its base, as a model of its own",
  body: jsonBody(exported),
  202: json("It is under way; when it is done, /api/models has it.", jobSchema),
  refuses: [404, 409],
});

/** Routes of exports. @param folder of the models' folders */
export function exportRoutes(jobs: Jobs, catalog: ModelCatalog, list: RunList, folder: string) {
  return newApi()
    .openapi(begin, async (context) => {
      const asked = context.req.valid("json");
      const { model, output, adapter, dtype } = asked;
      const found = await catalog.find(model);
      if (found === null) {
        throw new RequestProblem(
          404,
          `There is no model ${JSON.stringify(model.slice(0, 100))}.`,
          "model",
        );
      }
      const path = join(folder, output);
      if (exists(path)) {
        throw new RequestProblem(409, `${path} exists already: take another name.`, "output");
      }
      Deno.mkdirSync(folder, { recursive: true });
      const args = [
        ...["export", ...sourceOf(found, list), `--output=${path}`, `--dtype=${dtype}`],
        ...(adapter ? ["--adapter"] : []),
      ];
      return context.json(jobs.begin(() => args, { ...asked, path }), 202);
    })
    .route("/", jobRoutes("exports", jobs));
}

function sourceOf({ kind, path, run, step, policy }: CataloguedModel, list: RunList): string[] {
  if (kind !== "checkpoint") return [`--model=${path}`];
  const listed = list.find(run ?? "");
  if (listed?.kind !== "train") {
    throw new RequestProblem(
      422,
      `${run} is a fine-tuning: what it has learned is exported from its folder when it has ended.`,
      "model",
    );
  }
  return [`--run=${listed.folder.path}`, `--checkpoint=${step}`, `--policy=${policy}`];
}
