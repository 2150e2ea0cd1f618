import type { OpenAPIHono } from "@hono/zod-openapi";
import { bodyLimit } from "hono/body-limit";
import { type Access, refuse, signIn } from "./http/guard.ts";
import { LARGEST_BODY, RateLimit, RATES, tooMany } from "./http/limits.ts";
import { problemResponse } from "./http/problem.ts";
import { answerError, newApi } from "./routes/api.ts";
import { eventsRoutes } from "./routes/events.ts";
import { foldersRoutes } from "./routes/folders.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { runsRoutes } from "./routes/runs.ts";
import { samplesRoutes } from "./routes/samples.ts";
import { systemRoutes } from "./routes/system.ts";
import { PAGE_POLICY } from "./page_files.ts";
import { pageRoutes } from "./page_routes.ts";
import type { Runs } from "./runs/runs.ts";

/** Said with every answer. */
const HEADERS = {
  "content-security-policy": PAGE_POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

/** All routes, behind the checks of who asks and how much. */
export function makeApp(runs: Runs, access: Access): OpenAPIHono {
  const app = newApi();
  const reads = new RateLimit(RATES.reads);
  const changes = new RateLimit(RATES.changes);
  app.use(async (context, next) => {
    const request = context.req.raw;
    const isRead = request.method === "GET" || request.method === "HEAD";
    const refusal = refuse(request, access) ?? signIn(request, access.token) ??
      ((isRead ? reads : changes).take() ? null : tooMany("requests"));
    if (refusal === null) await next();
    else context.res = refusal;
    for (const [name, value] of Object.entries(HEADERS)) context.res.headers.set(name, value);
  });
  app.use(bodyLimit({
    maxSize: LARGEST_BODY,
    onError: () => problemResponse(413, `A request has at most ${LARGEST_BODY} bytes.`),
  }));
  for (
    const routes of [
      runsRoutes(runs),
      metricsRoutes(runs.list),
      samplesRoutes(runs.list),
      eventsRoutes(runs.list),
      foldersRoutes(runs.list),
      systemRoutes(runs.list),
    ]
  ) app.route("/", routes);
  app.route("/", pageRoutes());
  if (access.token !== null) {
    app.openAPIRegistry.registerComponent("securitySchemes", "token", {
      type: "http",
      scheme: "bearer",
    });
  }
  app.doc31("/openapi.json", {
    openapi: "3.1.0",
    info: { title: "tango", version: "1", description: "Runs are started, watched and steered." },
    ...(access.token === null ? {} : { security: [{ token: [] }] }),
  });
  app.notFound(() => problemResponse(404, "There is nothing here; /openapi.json says what is."));
  app.onError(answerError);
  return app;
}
