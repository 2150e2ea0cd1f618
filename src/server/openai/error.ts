/** Errors as OpenAI's clients read them. */

import { OpenAPIHono, z } from "@hono/zod-openapi";
import { HTTPException } from "hono/http-exception";
import { UserError } from "../../base/user_error.ts";
import { mostTelling, RequestProblem } from "../http/problem.ts";

/** What the server tells the routes of who asks. */
export interface Asking {
  readonly Bindings: {
    /** Tells connections apart. */
    readonly peer?: string;
  };
}

/** The body of every answer that is an error. */
export const errorSchema = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable().describe("The part of the request that is to blame."),
    code: z.string().nullable(),
  }),
}).openapi("OpenAiError");
export type OpenAiError = z.infer<typeof errorSchema>;

/** An error as an answer. */
export function errorAnswer(
  status: number,
  message: string,
  param: string | null = null,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const type = status === 429
    ? "rate_limit_error"
    : status >= 500
    ? "server_error"
    : "invalid_request_error";
  const code = status === 404 && param === "model" ? "model_not_found" : null;
  const body: OpenAiError = { error: { message, type, param, code } };
  return Response.json(body, { status, headers });
}

/** A group of routes, whose errors are OpenAI's. */
export function newOpenAiApi(): OpenAPIHono<Asking> {
  const api = new OpenAPIHono<Asking>({
    defaultHook(result) {
      if (result.success) return;
      const { field, message } = mostTelling(result.error.issues);
      return errorAnswer(400, `${field || "The request"}: ${message}`, field || null);
    },
  });
  api.onError(answerOpenAiError);
  return api;
}

/** Any error as an answer. */
export function answerOpenAiError(error: Error): Response {
  if (error instanceof RequestProblem) {
    return errorAnswer(error.status, error.message, error.field, error.headers);
  }
  if (error instanceof UserError) return errorAnswer(400, error.message);
  if (error instanceof HTTPException) return errorAnswer(error.status, error.message);
  console.error(error);
  return errorAnswer(500, "The server made a mistake; its output says more.");
}

/** Documents the errors of a route. */
export function openAiErrors(...statuses: readonly number[]) {
  return Object.fromEntries(statuses.map((status) => [status, {
    description: "It is refused",
    content: { "application/json": { schema: errorSchema } },
  }]));
}
