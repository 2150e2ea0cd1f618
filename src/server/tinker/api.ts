import { createRoute, type OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { ServedModels } from "../serving/served_models.ts";
import { problems } from "../http/problem.ts";
import { json, jsonBody } from "../http/route.ts";
import type { Checkpoints } from "./checkpoints.ts";
import type { Futures } from "./futures.ts";
import type { Sessions } from "./sessions.ts";

/** What the routes are about. */
export interface Tinker {
  readonly served: ServedModels;
  readonly sessions: Sessions;
  readonly futures: Futures;
  readonly checkpoints: Checkpoints;
}

/** What is asked for in an address. */
interface Addressed<Params extends z.ZodRawShape, Query extends z.ZodRawShape> {
  readonly params?: z.ZodObject<Params>;
  readonly query?: z.ZodObject<Query>;
}

/** What is asked for with GET or DELETE. */
export function at<
  Params extends z.ZodRawShape = Record<never, never>,
  Query extends z.ZodRawShape = Record<never, never>,
>(
  api: OpenAPIHono,
  method: "get" | "delete",
  path: string,
  summary: string,
  { params, query }: Addressed<Params, Query>,
  answer: (
    params: z.output<z.ZodObject<Params>>,
    query: z.output<z.ZodObject<Query>>,
  ) => object | Promise<object>,
): void {
  add(api, { method, path, summary, request: { params, query } }, (valid) =>
    answer(
      valid("param") as z.output<z.ZodObject<Params>>,
      valid("query") as z.output<z.ZodObject<Query>>,
    ));
}

/**
 * What is asked for with POST in JSON. Fields that nobody knows are passed over, as the SDK grows.
 *
 * @param params of the path, where it has any
 */
export function post<Schema extends z.ZodType, Params extends z.ZodRawShape = Record<never, never>>(
  api: OpenAPIHono,
  path: string,
  summary: string,
  schema: Schema,
  answer: (
    asked: z.output<Schema>,
    params: z.output<z.ZodObject<Params>>,
  ) => object | Promise<object>,
  params?: z.ZodObject<Params>,
): void {
  add(
    api,
    { method: "post", path, summary, request: { body: jsonBody(schema), params } },
    (valid) =>
      answer(
        valid("json") as z.output<Schema>,
        valid("param") as z.output<z.ZodObject<Params>>,
      ),
  );
}

/** Adds a route. @param answer is given what the schemas have let through of each place */
function add(
  api: OpenAPIHono,
  { path, ...asked }: Pick<RouteConfig, "method" | "path" | "summary" | "request">,
  answer: (valid: (from: "json" | "param" | "query") => unknown) => object | Promise<object>,
): void {
  const route = createRoute({
    ...{ ...asked, path: `/api/v1/${path}`, tags: ["Tinker"] },
    responses: { 200: json("Done", z.looseObject({})), ...problems(...REFUSED) },
  });
  const handle = async ({ req }: Context) => {
    const made = await answer((from) => req.valid(from as never));
    return made instanceof Response ? made : Response.json(made);
  };
  api.openapi(route, handle as never); // every answer is documented loosely
}

/** Statuses that any of the routes may refuse with. */
const REFUSED = [400, 404, 409, 410, 413, 415, 422, 429, 503] as const;

/** A name in a path. */
export const inPath = <Name extends string>(of: Name) =>
  name.openapi({ param: { name: of, in: "path" } });

/** A name of something. */
export const name = z.string().max(500);
/** A number that a client counts with. */
export const count = z.int().min(0).max(2 ** 31 - 1);
/** What a user says of what they make. */
export const metadata = z.record(z.string(), z.string()).nullish();
