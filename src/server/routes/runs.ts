/** The runs. */

import { createRoute, z } from "@hono/zod-openapi";
import { problems } from "../http/problem.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import type { RunList } from "../runs/run_list.ts";
import { runSchema } from "../runs/run_view.ts";
import { json, newApi, runParameter } from "./api.ts";

const list = createRoute({
  method: "get",
  path: "/api/runs",
  summary: "All runs, the newest first",
  responses: {
    200: json(
      "Those of the server and those of the command line.",
      z.object({
        runs: z.array(runSchema),
        problem: z.string().nullable().describe("Why what is shown may be behind."),
      }),
    ),
    ...problems(429),
  },
});

const one = createRoute({
  method: "get",
  path: "/api/runs/{id}",
  summary: "A run",
  request: { params: runParameter },
  responses: { 200: json("The run.", runSchema), ...problems(404, 422, 429) },
});

/** Routes of the runs. */
export function runsRoutes(runs: AllRuns, followed: RunList) {
  return newApi()
    .openapi(list, (context) => {
      return context.json({ runs: runs.views, problem: followed.problem }, 200);
    })
    .openapi(one, (context) => context.json(runs.view(context.req.valid("param").id), 200));
}
