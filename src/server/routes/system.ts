/** What is not about one run. */

import { createRoute, z } from "@hono/zod-openapi";
import { json } from "../http/route.ts";
import type { RunList } from "../runs/run_list.ts";
import { newApi } from "./api.ts";

const healthSchema = z.object({
  status: z.enum(["ok", "behind"]),
  problem: z.string().nullable(),
});

const health = createRoute({
  method: "get",
  path: "/healthz",
  summary: "Whether the server is well",
  responses: {
    200: json("It is.", healthSchema),
    503: json("It answers, but cannot follow the runs.", healthSchema),
  },
});

/** Routes of the server itself. */
export function systemRoutes(runs: RunList) {
  return newApi()
    .openapi(health, (context) => {
      const { problem } = runs;
      if (problem === null) return context.json({ status: "ok" as const, problem }, 200);
      return context.json({ status: "behind" as const, problem }, 503);
    });
}
