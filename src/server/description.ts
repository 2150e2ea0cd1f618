import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Access } from "./http/guard.ts";
import { problemAnswer } from "./http/problem.ts";
import type { Asking } from "./openai/error.ts";

/** The OpenAPI document of all routes, with what every request may be refused with. */
export function describeApi(app: OpenAPIHono<Asking>, { token }: Access): object {
  if (token !== null) {
    app.openAPIRegistry.registerComponent("securitySchemes", "token", {
      type: "http",
      scheme: "bearer",
    });
  }
  const { paths = {}, ...document } = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { title: "tango", version: "1", description: "Runs are started, watched and steered." },
    ...(token === null ? {} : { security: [{ token: [] }] }),
  });
  const refusals = {
    403: problemAnswer(403),
    ...(token === null ? {} : { 401: problemAnswer(401) }),
  };
  const entries = Object.entries(paths).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).map(([method, operation]) => [
        method,
        { ...operation, responses: { ...operation.responses, ...refusals } },
      ]),
    ),
  ]);
  return { ...document, paths: Object.fromEntries(entries) };
}
