/** What all commands have in common that the server starts and keeps the results of. */

import { z } from "@hono/zod-openapi";
import { gone, json, route } from "../http/route.ts";
import { type Jobs, jobSchema } from "../models/jobs.ts";
import { newApi } from "./api.ts";

const nameParameter = z.object({
  name: z.string().min(1).max(255).openapi({ param: { name: "name", in: "path" } }),
});

/**
 * Routes that read and end them.
 *
 * @param what they are called in a path, in the plural
 */
export function jobRoutes<What extends string>(what: What, jobs: Jobs) {
  const list = route("get", `/api/${what}` as const, {
    summary: `All ${what}, in their order`,
    200: json("With their results.", z.object({ jobs: z.array(jobSchema) })),
  });
  const read = route("get", `/api/${what}/{name}` as const, {
    summary: `One of the ${what}`,
    params: nameParameter,
    200: json("With its result.", jobSchema),
    refuses: [404],
  });
  const remove = route("delete", `/api/${what}/{name}` as const, {
    summary: `Removes one of the ${what}, which is ended first if it goes on`,
    params: nameParameter,
    ...gone,
    refuses: [404],
  });
  return newApi()
    .openapi(list, (context) => context.json({ jobs: jobs.all }, 200))
    .openapi(read, (context) => context.json(jobs.require(context.req.valid("param").name), 200))
    .openapi(remove, (context) => {
      jobs.remove(context.req.valid("param").name);
      return context.body(null, 204);
    });
}
