/** Routes as they are documented, with the types that clients take from them. */

import { createRoute, type RouteConfig, type z } from "@hono/zod-openapi";
import { problems, type ProblemStatus } from "./problem.ts";

type Method = "get" | "post" | "put" | "patch" | "delete";

/** Where what is asked for lies. */
type Place = "params" | "query" | "headers" | "body";

/** What is asked for, the answers by status, and the problems that are this route's own. */
type Exchange =
  & Pick<NonNullable<RouteConfig["request"]>, Place>
  & { readonly [status: number]: RouteConfig["responses"][string] }
  & { readonly summary: string; readonly refuses?: readonly ProblemStatus[] };

/** What every route that is asked so may refuse. */
type Refused<Asking extends Method, Asked> =
  | 429
  | (keyof Asked & Place extends never ? never : 422)
  | (Asked extends { readonly body: object } ? 400 : never)
  | (Asking extends "get" | "delete" ? never : 408 | 413)
  | (Asking extends "post" | "patch" ? 415 : never);

type Own<Asked> = Asked extends { readonly refuses: readonly (infer Status)[] }
  ? Status & ProblemStatus
  : never;

/**
 * A route. Problems that all have which are asked so are added: too many requests, what a schema refuses, a body that
 * is late, too large or of another type.
 */
export function route<
  Asking extends Method,
  Path extends string,
  const Asked extends Exchange,
>(method: Asking, path: Path, exchange: Asked) {
  const { summary, params, query, headers, body, refuses = [], ...answers } = exchange;
  const asked = Object.entries({ params, query, headers, body })
    .filter(([_, place]) => place !== undefined);
  const sends = method !== "get" && method !== "delete";
  const refused = [
    ...[...refuses, 429],
    ...(asked.length > 0 ? [422] : []),
    ...(body ? [400] : []),
    ...(sends ? [408, 413] : []),
    ...(sends && method !== "put" ? [415] : []),
  ] as (Own<Asked> | Refused<Asking, Asked>)[];
  return createRoute({
    ...{ method, path, summary },
    request: Object.fromEntries(asked) as Pick<Asked, keyof Asked & Place>,
    responses: { ...answers as Pick<Asked, keyof Asked & number>, ...problems(...refused) },
  });
}

/** An answer in JSON. */
export function json<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { "application/json": { schema } } } as const;
}

/** A body in JSON. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { "application/json": { schema } } } as const;
}

/** The answer of a route that removes. */
export const gone = { 204: { description: "It is gone." } } as const;
