import { OpenAPIHono } from "@hono/zod-openapi";
import type { Tinker } from "./api.ts";
import { clientRoutes } from "./client_routes.ts";
import { futureRoutes } from "./future_routes.ts";
import { listingRoutes } from "./listing_routes.ts";
import { modelRoutes } from "./model_routes.ts";
import { savingRoutes } from "./saving_routes.ts";
import { trainingRoutes } from "./training_routes.ts";
import { samplingRoutes } from "./sampling_routes.ts";

/** The API that the SDK of Tinker asks. */
export function tinkerRoutes(tinker: Tinker): OpenAPIHono {
  const api = new OpenAPIHono();
  for (
    const routes of [
      clientRoutes(tinker),
      modelRoutes(tinker),
      trainingRoutes(tinker),
      savingRoutes(tinker),
      samplingRoutes(tinker),
      futureRoutes(tinker),
      listingRoutes(tinker),
    ]
  ) api.route("/", routes);
  return api;
}
