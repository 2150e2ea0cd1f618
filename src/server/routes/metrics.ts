/** Metrics of a run, and their names. */

import { z } from "@hono/zod-openapi";
import { json, route } from "../http/route.ts";
import { csvStream } from "../index/csv_stream.ts";
import { metricNames, metricsTableSchema, readMetrics } from "../index/read_metrics.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import { MOST_STEPS, newApi, numberParameter, requireRun, runParameter } from "./api.ts";

/** Columns of one answer. */
const MOST_NAMES = 200;

const querySchema = z.object({
  names: z.string().max(10_000).regex(/^[ -~]*$/, "expected ASCII").optional().describe(
    `Names, separated by commas, at most ${MOST_NAMES}; left out: the first ${MOST_NAMES}.`,
  ),
  from: numberParameter(0, MOST_STEPS).optional().describe("First step."),
  to: numberParameter(0, MOST_STEPS).optional().describe("Last step."),
  points: numberParameter(1, 100_000).optional().describe(
    "Rows at most, 500 unless told; where there are more, the mean of neighbours. With CSV: all.",
  ),
  format: z.enum(["json", "csv"]).optional(),
});

const metrics = route("get", "/api/runs/{id}/metrics", {
  summary: "What was measured, by step",
  params: runParameter,
  query: querySchema,
  200: {
    description: "A row for each line of metrics.jsonl, or for several that follow each other.",
    content: {
      "application/json": { schema: metricsTableSchema },
      "text/csv": { schema: z.string() },
    },
  },
  refuses: [404, 409],
});

const names = route("get", "/api/runs/{id}/metric-names", {
  summary: "Names of the metrics that a run has",
  params: runParameter,
  200: json("The names.", z.object({ names: z.array(z.string()) })),
  refuses: [404, 409],
});

/** Routes of metrics. */
export function metricsRoutes(runs: AllRuns) {
  const { index } = runs.list;
  return newApi()
    .openapi(names, (context) => {
      const { indexed } = requireRun(runs, context.req.valid("param").id);
      return context.json({ names: metricNames(index, indexed.id) }, 200);
    })
    .openapi(metrics, (context) => {
      const { indexed } = requireRun(runs, context.req.valid("param").id);
      const { names, from = 0, to = MOST_STEPS, format = "json", points } = context.req.valid(
        "query",
      );
      const asked = names === undefined
        ? metricNames(index, indexed.id)
        : [...new Set(names.split(","))].filter((name) => name !== "");
      const query = {
        // A name that the run does not have is a column without numbers, as one that it has not yet.
        names: asked.slice(0, MOST_NAMES),
        from,
        to,
        points: points ?? (format === "csv" ? Infinity : 500),
      };
      if (format === "json") return context.json(readMetrics(index, indexed.id, query), 200);
      return context.body(csvStream(index, indexed.id, query), 200, {
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": 'attachment; filename="metrics.csv"',
      }) as never; // the library types text/… as a string only
    });
}
