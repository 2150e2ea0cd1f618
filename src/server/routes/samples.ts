/** Texts of a run, and what its verifier made of them. */

import { z } from "@hono/zod-openapi";
import { json, route } from "../http/route.ts";
import { confusionSchema, readConfusion } from "../index/read_confusion.ts";
import { findSamples } from "../index/read_samples.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import { MOST_STEPS, newApi, numberParameter, requireRun, runParameter } from "./api.ts";

const pair = z.tuple([z.number(), z.int()]).openapi({ minItems: 2, maxItems: 2 });

const packed = (what: string) =>
  z.array(z.union([z.number(), pair]))
    .describe(`Of each token ${what}. A pair is a number and how often it comes in a row.`);

const tokens = z.object({
  lengths: packed("the characters (UTF-16) that it adds to the text, which may be none"),
  advantages: packed("its advantage"),
  logProbDifferences: packed(
    "log p(training) - log p(sampling), nats; absent where that was not measured",
  ).optional(),
  isLeftOut: z.literal(true).optional()
    .describe("The response was left out of the loss, whatever its advantages."),
}).describe(
  "The tokens of what was learned from: of the solution in a generator step, of the critique in a verifier step.",
).openapi("SampleTokens");

const sampleSchema = z.looseObject({
  step: z.int(),
  phase: z.string(),
  problem: z.string(),
  solution: z.string(),
  tokens: tokens.optional(),
  critiques: z.array(z.looseObject({ text: z.string(), tokens: tokens.optional() })),
}).describe("A line of samples.jsonl.").openapi("Sample");

const samples = route("get", "/api/runs/{id}/samples", {
  summary: "Solutions with their critiques",
  params: runParameter,
  query: z.object({
    step: numberParameter(0, MOST_STEPS).optional(),
    // In an address it may take twelve times as much, of which the server reads 64 KiB.
    group: z.string().max(4000).optional().describe("The text of a problem."),
    filter: z.enum(["disagrees", "longest", "cut-off", "bad-format"]).optional().describe(
      "disagrees: a verdict is not the truth; longest: the longest first; cut-off: no final answer; bad-format: " +
        "not fully rewarded for its format, or a critique without verdict.",
    ),
    page: numberParameter(1, 1_000_000).optional().describe(
      "Of 20 samples, from 1; without `longest` the newest are first.",
    ),
  }),
  200: json(
    "A page of samples.",
    z.object({ samples: z.array(sampleSchema), pages: z.int(), total: z.int() }),
  ),
  refuses: [404, 409],
});

const confusion = route("get", "/api/runs/{id}/confusion", {
  summary: "The verifier's verdicts against the truth in its training steps",
  params: runParameter,
  200: json(
    "Shares of a step's critiques; CORRECT is the positive class.",
    z.object({ points: z.array(confusionSchema) }),
  ),
  refuses: [404, 409],
});

/** Routes of samples. */
export function samplesRoutes(runs: AllRuns) {
  const { index } = runs.list;
  return newApi()
    .openapi(samples, (context) => {
      const { indexed } = requireRun(runs, context.req.valid("param").id);
      const { lines, pages, total } = findSamples(
        index.database,
        indexed.id,
        context.req.valid("query"),
      );
      const found = lines.map((line) => JSON.parse(line) as z.infer<typeof sampleSchema>);
      return context.json({ samples: found, pages, total }, 200);
    })
    .openapi(confusion, (context) => {
      const { indexed } = requireRun(runs, context.req.valid("param").id);
      return context.json({ points: readConfusion(index, indexed.id) }, 200);
    });
}
