/** Requests to the control API. */

import type { ProblemBody, Remedy } from "../../http/problem.ts";
import type { OpenAiError } from "../../openai/error.ts";

/** One of the things that are wrong with a request. */
export interface RequestFault {
  readonly detail: string;
  /** What in the request it is; null: nobody says. */
  readonly field: string | null;
  /** How to come by a file that is not there. */
  readonly remedy?: Remedy;
}

/** An answer that is no success, as the server explains it. */
export class ApiError extends Error {
  /**
   * @param status 0 when there was no answer
   * @param faults all that is wrong
   */
  constructor(
    readonly status: number,
    message: string,
    readonly faults: readonly RequestFault[] = [],
  ) {
    super(message);
  }
}

/** What was thrown, as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/**
 * One request.
 *
 * @returns a success
 * @throws {ApiError}
 */
export async function send(
  method: string,
  path: string,
  { body, headers = {}, signal }: {
    body?: unknown;
    headers?: Record<string, string>;
    signal?: AbortSignal;
  } = {},
): Promise<Response> {
  const sent = new Headers({ accept: "application/json", ...headers });
  if (body !== undefined) sent.set("content-type", "application/json");
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: sent,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "The server does not answer.");
  }
  if (response.ok) return response;
  throw explain(response.status, await response.text());
}

/** An answer that is no success, of either API: problems, or OpenAI's errors. */
export function explain(status: number, text: string): ApiError {
  try {
    const { title, detail, field, errors, error }: Partial<ProblemBody & OpenAiError> = JSON.parse(
      text,
    );
    const message = [detail, title, error?.message].find((part) => typeof part === "string") ??
      text;
    const faults: NonNullable<ProblemBody["errors"]> = errors ??
      [{ detail: message, field: field ?? error?.param ?? undefined }];
    return new ApiError(
      status,
      message,
      faults.map(({ detail, field = null, ...rest }) => ({ ...rest, detail, field })),
    );
  } catch {
    return new ApiError(status, text.slice(0, 300) || `status ${status}`);
  }
}

/**
 * Reads JSON.
 *
 * @throws {ApiError}
 */
export async function get<Answer>(
  path: string,
  options?: { signal?: AbortSignal },
): Promise<Answer> {
  return await (await send("GET", path, options)).json();
}

/**
 * The address of something of a run.
 *
 * @param what such as "metrics"
 * @param query null and "" are left out
 */
export function runPath(
  id: string,
  what: string = "",
  query: Record<string, string | number | null> = {},
) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== "") words.set(name, String(value));
  }
  const text = words.toString();
  return `/api/runs/${encodeURIComponent(id)}${what && `/${what}`}${text && `?${text}`}`;
}
