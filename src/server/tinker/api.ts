import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import type { ServedModels } from "../serving/served_models.ts";
import { invalidResponse, problems } from "../http/problem.ts";
import { answerError } from "../routes/api.ts";
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

/** A group of routes. */
export function newTinkerApi(): OpenAPIHono {
  const api = new OpenAPIHono({
    defaultHook: (result) => result.success ? undefined : invalidResponse(result.error.issues),
  });
  api.onError(answerError);
  return api;
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
  const request = { ...(params ? { params } : {}), ...(query ? { query } : {}) };
  const route = createRoute({ ...described(path, summary), method, request });
  api.openapi(
    route,
    (async (context: Valid) =>
      Response.json(
        await answer(
          context.req.valid("param") as z.output<z.ZodObject<Params>>,
          context.req.valid("query") as z.output<z.ZodObject<Query>>,
        ),
      )) as never, // every answer is documented loosely
  );
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
  const body = { required: true, content: { "application/json": { schema } } };
  const request = { body, ...(params ? { params } : {}) };
  const route = createRoute({ ...described(path, summary), method: "post", request });
  api.openapi(
    route,
    (async (context: Valid) => {
      const asked = context.req.valid("json") as z.output<Schema>;
      const made = await answer(
        asked,
        context.req.valid("param") as z.output<z.ZodObject<Params>>,
      );
      return made instanceof Response ? made : Response.json(made);
    }) as never, // every answer is documented loosely
  );
}

/** What a schema has let through. */
interface Valid {
  readonly req: { readonly valid: (from: "json" | "param" | "query") => unknown };
}

const described = (path: string, summary: string) => ({
  path: `/api/v1/${path}`,
  tags: ["Tinker"],
  summary,
  responses: {
    200: { description: "Done", content: { "application/json": { schema: z.looseObject({}) } } },
    ...problems(400, 404, 409, 410, 413, 415, 422, 429, 503),
  },
});

/** A name in a path. */
export const inPath = <Name extends string>(of: Name) =>
  name.openapi({ param: { name: of, in: "path" } });

/** A name of something. */
export const name = z.string().max(500);
/** A number that a client counts with. */
export const count = z.int().min(0).max(2 ** 31 - 1);
/** What a user says of what they make. */
export const metadata = z.record(z.string(), z.string()).nullish();
