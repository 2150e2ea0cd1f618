/** Texts of a run, and what its verifier made of them. */

import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi";
import { problems } from "../http/problem.ts";
import { readConfusion } from "../index/read_confusion.ts";
import { findSamples } from "../index/read_samples.ts";
import type { RunList } from "../runs/run_list.ts";
import { json, MOST_STEPS, newApi, numberParameter, requireRun, runParameter } from "./api.ts";

const packed = z.array(
  z.union([z.number(), z.tuple([z.number(), z.int()])]),
).describe("Numbers in order; a pair is one of them and how often it comes in a row.")
  .openapi("PackedNumbers");

const tokensSchema = z.object({
  lengths: packed.describe("Characters (UTF-16) that each token adds to the text; 0 for some."),
  advantages: packed,
  logProbDifferences: packed.optional().describe(
    "log p(training) - log p(sampling) of each token, nats; absent where it was not measured.",
  ),
}).describe("The tokens of a text that was learned from, in order.").openapi("SampleTokens");

const sampleSchema = z.looseObject({
  step: z.int(),
  phase: z.string(),
  problem: z.string(),
  solution: z.string(),
  tokens: tokensSchema.optional().describe("Of the solution, in a generator step."),
  critiques: z.array(z.looseObject({
    text: z.string(),
    tokens: tokensSchema.optional().describe("Of the text, in a verifier step."),
  })),
}).describe("A line of samples.jsonl.").openapi("Sample");

const samples = createRoute({
  method: "get",
  path: "/api/runs/{id}/samples",
  summary: "Solutions with their critiques",
  request: {
    params: runParameter,
    query: z.object({
      step: numberParameter(0, MOST_STEPS).optional(),
      group: z.string().max(10_000).optional().describe("The text of a problem."),
      filter: z.enum(["disagrees", "longest", "cut-off", "bad-format"]).optional().describe(
        "disagrees: a verdict is not the truth; longest: the longest first; cut-off: no final answer; bad-format: " +
          "not fully rewarded for its format, or a critique without verdict.",
      ),
      page: numberParameter(1, 1_000_000).optional().describe(
        "Of 20 samples, from 1; without `longest` the newest are first.",
      ),
    }),
  },
  responses: {
    200: json(
      "A page of samples.",
      z.object({ samples: z.array(sampleSchema), pages: z.int(), total: z.int() }),
    ),
    ...problems(404, 422, 429),
  },
});

const share = z.number();

const confusion = createRoute({
  method: "get",
  path: "/api/runs/{id}/confusion",
  summary: "The verifier's verdicts against the truth in its training steps",
  request: { params: runParameter },
  responses: {
    200: json(
      "Shares of a step's critiques; CORRECT is the positive class.",
      z.object({
        points: z.array(z.object({
          step: z.int(),
          source: z.literal("training"),
          trueCorrect: share,
          falseCorrect: share,
          trueIncorrect: share,
          falseIncorrect: share,
          unparsed: share,
        })),
      }),
    ),
    ...problems(404, 422, 429),
  },
});

/** Routes of samples. */
export function samplesRoutes(runs: RunList): OpenAPIHono {
  const api = newApi();
  const { database } = runs.index;
  api.openapi(samples, (context) => {
    const { indexed } = requireRun(runs, context.req.valid("param").id);
    const { lines, pages, total } = findSamples(database, indexed.id, context.req.valid("query"));
    const found = lines.map((line) => JSON.parse(line) as z.infer<typeof sampleSchema>);
    return context.json({ samples: found, pages, total }, 200);
  });
  api.openapi(confusion, (context) => {
    const { indexed } = requireRun(runs, context.req.valid("param").id);
    return context.json({ points: readConfusion(runs.index, indexed.id) }, 200);
  });
  return api;
}
