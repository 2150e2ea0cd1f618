/** How good a model is, measured on problems that training never sees. */

import { z } from "@hono/zod-openapi";
import { formats } from "../../data/files/formats.ts";
import { RequestProblem } from "../http/problem.ts";
import { json, jsonBody, route } from "../http/route.ts";
import { isAllowed } from "../launches/allowed_paths.ts";
import { presetFile } from "../launches/presets.ts";
import { WITHOUT_NUL } from "../launches/run_process.ts";
import { type Jobs, jobSchema } from "../models/jobs.ts";
import { checkpointOf, type NamedCheckpoint } from "../models/named_checkpoint.ts";
import type { RunList } from "../runs/run_list.ts";
import { newApi } from "./api.ts";
import { jobRoutes } from "./jobs.ts";

const path = z.string().min(1).max(1000).regex(WITHOUT_NUL, "expected no NUL");

const evaluation = z.strictObject({
  model: path.describe(
    "Path of a model or an adapter of /api/models, or the name of a checkpoint, such as RUN/generator@40.",
  ),
  policy: z.enum(["generator", "verifier"]).optional().describe(
    "What its weights are; left out: generator, or what the checkpoint's name says.",
  ),
  generator: path.optional().describe(
    "For a verifier: whose solutions it judges, a path; of a checkpoint left out: its own generator's.",
  ),
  verifier: z.union([z.literal(true), path]).optional().describe(
    "Chooses among a generator's samples, or rewrites them: a path; true is the checkpoint's own.",
  ),
  critiques: z.int().min(1).max(1024).optional().describe(
    "Of each sample by that verifier: 1 is greedy, more are sampled.",
  ),
  rewrites: z.int().min(0).max(100).optional().describe(
    "Times that a sample is begun again, at most, where that verifier finds the first wrong step.",
  ),
  preset: z.string().max(100).optional().describe(
    "Whose problems, templates and numbers; left out: those of the run that the model lies in, else the default's.",
  ),
  data: z.array(path).min(1).max(50).optional().describe("Files or folders with problems instead."),
  format: z.enum(formats.map(({ name }) => name) as [string, ...string[]]).optional(),
  problems: z.int().min(1).max(1e6).optional(),
  k: z.int().min(1).max(1024).default(1).describe(
    "Responses to each: 1 is greedy, more are sampled.",
  ),
  temperature: z.number().min(0).max(10).optional().describe("Of sampled responses."),
  seed: z.int().min(0).max(2 ** 32 - 1).optional(),
});

const begin = route("post", "/api/evaluations", {
  summary: "Measures a model, as ./tango eval does",
  body: jsonBody(evaluation),
  202: json(
    "It is under way; its output, when it is done, is one JSON object with `metrics`.",
    jobSchema,
  ),
  refuses: [409],
});

/** Routes of evaluations. @param folders that models and data may lie in */
export function evaluationRoutes(jobs: Jobs, list: RunList, folders: readonly string[]) {
  return newApi()
    .openapi(begin, (context) => {
      const asked = context.req.valid("json");
      const checkpoint = checkpointOf(asked.model, list);
      if (checkpoint === null) requireAllowed("model", asked.model, folders);
      else if ((asked.policy ?? checkpoint.policy) !== checkpoint.policy) {
        throw new RequestProblem(
          422,
          `policy is ${asked.policy}, and ${asked.model} is a ${checkpoint.policy}.`,
          "policy",
        );
      }
      if (asked.generator) requireAllowed("generator", asked.generator, folders);
      if (typeof asked.verifier === "string") {
        requireAllowed("verifier", asked.verifier, folders);
      } else if (asked.verifier === true && checkpoint === null) {
        throw new RequestProblem(
          422,
          `verifier is true, and ${asked.model} is no checkpoint that has one; expected its path.`,
          "verifier",
        );
      }
      for (const [i, one] of (asked.data ?? []).entries()) {
        requireAllowed(`data[${i}]`, one, folders);
      }
      const request = { ...asked, policy: checkpoint?.policy ?? asked.policy ?? "generator" };
      return context.json(jobs.begin(() => argumentsOf(request, checkpoint), request), 202);
    })
    .route("/", jobRoutes("evaluations", jobs));
}

function argumentsOf(
  asked: z.output<typeof evaluation>,
  checkpoint: NamedCheckpoint | null,
): string[] {
  const { policy, generator, verifier, critiques, rewrites, preset, data, k } = asked;
  const measured = checkpoint === null
    ? { model: asked.model }
    : { run: checkpoint.run.folder.path, checkpoint: checkpoint.step };
  const options = {
    ...{ ...measured, policy, generator, k, format: asked.format, problems: asked.problems },
    ...{ temperature: asked.temperature, seed: asked.seed, critiques, rewrites },
    verifier: verifier === true ? undefined : verifier,
    config: preset === undefined ? undefined : presetFile(preset),
  };
  return [
    ...["eval", "--json"],
    ...Object.entries(options).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name}=${value}`]
    ),
    ...(verifier === true ? ["--verifier"] : []),
    // It takes several, up to the end.
    ...(data === undefined ? [] : ["--data", ...data]),
  ];
}

/** @throws RequestProblem of a path that leads elsewhere, or would be taken for an option */
function requireAllowed(field: string, path: string, folders: readonly string[]): void {
  if (!path.startsWith("-") && isAllowed(path, folders)) return;
  throw new RequestProblem(
    422,
    `${field} is ${JSON.stringify(path)}; expected a path in one of ${
      folders.join(", ")
    }, such as /api/models and ` +
      "/api/datasets name.",
    field,
  );
}
