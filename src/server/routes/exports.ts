/** A checkpoint, an adapter or a file becomes a model in a folder of its own. */

import { z } from "@hono/zod-openapi";
import { join } from "node:path";
import { exists } from "../../platform/files/atomic_file.ts";
import { savedTypes } from "../../model/weights/model_files.ts";
import type { SavedType } from "../../model/weights/model_files.ts";
import { type GgufType, ggufTypes } from "../../model/weights/gguf_model.ts";
import { RequestProblem } from "../http/problem.ts";
import { json, jsonBody, route } from "../http/route.ts";
import { type Job, type Jobs, jobSchema } from "../models/jobs.ts";
import type { CataloguedModel, ModelCatalog } from "../models/model_catalog.ts";
import type { RunList } from "../runs/run_list.ts";
import { newApi } from "./api.ts";
import { jobRoutes } from "./jobs.ts";

const types = Object.keys(savedTypes) as [SavedType, ...SavedType[]];

const fileTypes = Object.keys(ggufTypes) as [GgufType, ...GgufType[]];

const exported = z.strictObject({
  model: z.string().min(1).max(1000).describe("Name of /api/models, such as RUN/generator@40."),
  output: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/).optional().describe(
    "Name of the new model; of a checkpoint it may be left out, and is then made of its own.",
  ),
  adapter: z.boolean().default(false).describe(
    "The adapter alone, as PEFT has it; else it is merged into its base.",
  ),
  asTrained: z.boolean().default(false).describe(
    "Of a checkpoint, to train from it: as its run would have left it then, the adapter alone where it trains one, " +
      "else the whole model in float32. What was written so already is not written again.",
  ),
  dtype: z.enum(types).default("bfloat16").describe("Number format of a whole model's weights."),
  gguf: z.enum(fileTypes).optional().describe(
    "Instead of a folder a GGUF file for llama.cpp, its matrices of this type; an adapter alone takes F32.",
  ),
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
      const { model, output, adapter, asTrained, dtype, gguf } = asked;
      const found = await catalog.find(model);
      if (found === null) {
        throw new RequestProblem(
          404,
          `There is no model ${JSON.stringify(model.slice(0, 100))}.`,
          "model",
        );
      }
      const name = output ?? nameOf(found);
      const ending = gguf === undefined || name.endsWith(".gguf") ? "" : ".gguf";
      const path = join(folder, `${name}${ending}`);
      const before = asTrained ? writtenBefore(jobs.all, found, path) : null;
      if (before !== null) return context.json(before, 202);
      if (asTrained && (found.kind !== "checkpoint" || adapter)) {
        throw new RequestProblem(
          422,
          "asTrained is of a checkpoint, and says itself whether the adapter is written.",
          "asTrained",
        );
      }
      if (asTrained && gguf !== undefined) {
        throw new RequestProblem(422, "asTrained is of a folder: leave gguf out.", "gguf");
      }
      if (adapter && gguf !== undefined && gguf !== "F32") {
        throw new RequestProblem(422, "An adapter alone is written in F32.", "gguf");
      }
      if (exists(path)) {
        throw new RequestProblem(409, `${path} exists already: take another name.`, "output");
      }
      Deno.mkdirSync(folder, { recursive: true });
      const args = [
        ...["export", ...sourceOf(found, list), `--output=${path}`],
        ...(asTrained
          ? ["--as-trained"]
          : [gguf === undefined ? `--dtype=${dtype}` : `--gguf=${gguf}`]),
        ...(adapter ? ["--adapter"] : []),
      ];
      return context.json(jobs.begin(() => args, { ...asked, path }), 202);
    })
    .route("/", jobRoutes("exports", jobs));
}

/** @throws RequestProblem of what is no checkpoint, which has no name of its own */
function nameOf({ kind, run, policy, step }: CataloguedModel): string {
  if (kind === "checkpoint") return `${run}-${policy}-${step}`.replaceAll(/[^A-Za-z0-9_.-]+/g, "-");
  throw new RequestProblem(422, "output is missing: expected the name of the new model.", "output");
}

/** The export that has written, or is writing, the same to a path from the checkpoint as it is now; null for none. */
function writtenBefore(
  jobs: readonly Job[],
  { name, path: checkpoint }: CataloguedModel,
  path: string,
): Job | null {
  // A run that was deleted and begun anew has other checkpoints of the same name.
  const since = Deno.statSync(checkpoint).mtime?.toISOString() ?? "";
  return jobs.findLast(({ state, request, startedAt }) =>
    request.asTrained === true && request.model === name && request.path === path &&
    startedAt >= since && (state === "running" || (state === "done" && exists(path)))
  ) ?? null;
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
