import { OpenAPIHono, z } from "@hono/zod-openapi";
import { HTTPException } from "hono/http-exception";
import { UserError } from "../../base/user_error.ts";
import { invalidResponse, problemResponse, RequestProblem } from "../http/problem.ts";
import { isDiskFull } from "../index/database.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import type { ListedRun } from "../runs/run_list.ts";

/** A group of routes, whose errors are problems. */
export function newApi(): OpenAPIHono {
  const api = new OpenAPIHono({
    defaultHook: (result) => result.success ? undefined : invalidResponse(result.error.issues),
  });
  api.onError(answerError);
  return api;
}

/** Any error as an answer. */
export function answerError(error: Error): Response {
  if (error instanceof RequestProblem) {
    return problemResponse(error.status, error.message, error.field, error.headers, error.errors);
  }
  if (error instanceof UserError) return problemResponse(422, error.message);
  // Hono's own, of a body that is no JSON or says that it is none.
  if (error instanceof HTTPException && (error.status === 400 || error.status === 415)) {
    return problemResponse(error.status, error.message);
  }
  if (error instanceof Deno.errors.NotFound) {
    return problemResponse(404, "It is gone: its file was removed meanwhile.");
  }
  if (isDiskFull(error)) {
    return problemResponse(503, "The disk of the runs' folder is full. Make room and try again.");
  }
  console.error(error);
  return problemResponse(500, "The server made a mistake; its output says more.");
}

/** A whole number in an address. */
export const numberParameter = (minimum: number, maximum: number) =>
  z.coerce.number<string>().int().min(minimum).max(maximum)
    .openapi({ type: "integer", minimum, maximum });

/** Steps are below this. */
export const MOST_STEPS = 2 ** 40;

/** The run's name in a path. */
export const runParameter = z.object({
  id: z.string().min(1).max(255).openapi({
    param: { name: "id", in: "path" },
    example: "last-letter-001",
  }),
});

/** @throws RequestProblem when there is no such run, or it has only been asked for */
export function requireRun(runs: AllRuns, name: string): ListedRun {
  const run = runs.list.find(name);
  if (run) return run;
  const { state } = runs.view(name);
  throw new RequestProblem(409, `The run ${name} has nothing to show: it is ${state}.`);
}
