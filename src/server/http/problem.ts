/** Errors as RFC 9457 has them. */

import { z } from "@hono/zod-openapi";
import { formatKeyPath, type KeyPath } from "../../run/config/config_problem.ts";

/** How to come by a file that is not there. */
const remedySchema = z.union([
  z.object({
    pull: z.object({
      kind: z.enum(["model", "dataset"]),
      id: z.string(),
      files: z.array(z.string()),
    }).describe("It is on the Hub: what to ask of POST /api/models/pull or /api/datasets/pull."),
  }),
  z.object({ preset: z.string().describe("A fine-tuning by this preset leaves such a model.") }),
]);

/** How to come by a file that is not there. */
export type Remedy = z.infer<typeof remedySchema>;

/** The body of every answer that is an error. */
export const problemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  field: z.string().optional().describe("The part of the request that is to blame."),
  errors: z.array(
    z.object({
      detail: z.string(),
      field: z.string().optional(),
      remedy: remedySchema.optional().describe("How to come by a file that is not there."),
    }),
  ).optional().describe("All that is wrong, where that is more than one thing or can be helped."),
}).openapi("Problem");

/** The body of every answer that is an error. */
export type ProblemBody = z.infer<typeof problemSchema>;

/** Statuses that are answered with a problem, and what they are called. */
const TITLES = {
  400: "Bad request",
  401: "Not authorised",
  403: "Forbidden",
  404: "Not found",
  405: "Method not allowed",
  408: "Too slow",
  409: "Conflict",
  410: "Gone",
  413: "Too large",
  415: "Unsupported media type",
  422: "Unprocessable",
  429: "Too many requests",
  500: "Server error",
  503: "Unavailable",
} as const;

/** A status that is answered with a problem. */
export type ProblemStatus = keyof typeof TITLES;

/** One of several things that are wrong with a request. */
export interface ProblemPart {
  readonly detail: string;
  readonly field?: string;
  readonly remedy?: Remedy;
}

/** A request that is answered with a problem. */
export class RequestProblem extends Error {
  override name = "RequestProblem";

  /** @param headers of the answer */
  constructor(
    readonly status: ProblemStatus,
    detail: string,
    readonly field?: string,
    readonly headers: Readonly<Record<string, string>> = {},
    readonly errors: readonly ProblemPart[] = [],
  ) {
    super(detail);
  }
}

/** The answer for a problem. */
export function problemResponse(
  status: ProblemStatus,
  detail: string,
  field?: string,
  headers: Readonly<Record<string, string>> = {},
  errors: readonly ProblemPart[] = [],
): Response {
  const body: ProblemBody = {
    type: "about:blank",
    title: TITLES[status],
    status,
    detail,
    ...(field === undefined ? {} : { field }),
    ...(errors.length < 2 && errors[0]?.remedy === undefined ? {} : { errors: [...errors] }),
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: { "content-type": "application/problem+json", ...headers },
  });
}

/** The answer for a request that a schema refuses. */
export function invalidResponse(issues: readonly z.core.$ZodIssue[]): Response {
  const errors = issues.map((issue) => {
    const { field, message } = mostTelling([issue]);
    return { detail: `${field || "The request"}: ${message}`, field: field || undefined };
  });
  return problemResponse(422, errors[0].detail, errors[0].field, {}, errors);
}

/** What is wrong first, and where: of a value that may have several forms, in the form that it fits furthest. */
export function mostTelling(
  issues: readonly z.core.$ZodIssue[],
): { readonly field: string; readonly message: string } {
  const { path, message } = furthest(issues[0], []);
  return { field: formatKeyPath(path), message };
}

function furthest(
  issue: z.core.$ZodIssue,
  place: KeyPath,
): { readonly path: KeyPath; readonly message: string } {
  const path = [...place, ...issue.path as KeyPath];
  if (issue.code !== "invalid_union") return { path, message: issue.message };
  const [found, ...others] = issue.errors.filter((form) => form.length > 0)
    .map(([first]) => furthest(first, path))
    .sort((a, b) => b.path.length - a.path.length);
  if (found === undefined) return { path, message: issue.message };
  // Forms that it does not fit at all are told together.
  const equal = others.filter((other) => String(other.path) === String(found.path));
  const messages = [found, ...equal].map(({ message }) => message);
  return { path: found.path, message: [...new Set(messages)].join("; or ") };
}

/** A problem in the OpenAPI document, as it stands there. */
export function problemAnswer(status: ProblemStatus): object {
  const schema = { $ref: "#/components/schemas/Problem" };
  return { description: TITLES[status], content: { "application/problem+json": { schema } } };
}

/** Documents problems that a route answers with. */
export function problems<const Status extends ProblemStatus>(
  ...statuses: readonly Status[]
): Record<
  Status,
  { description: string; content: { "application/problem+json": { schema: typeof problemSchema } } }
> {
  return Object.fromEntries(
    statuses.map((status) => [status, {
      description: TITLES[status],
      content: { "application/problem+json": { schema: problemSchema } },
    }]),
  ) as unknown as ReturnType<typeof problems<Status>>;
}
