/** Requests to the control API. */

/** An answer that is no success, as the server explains it. */
export class ApiError extends Error {
  /**
   * @param {number} status 0 when there was no answer
   * @param {string} message
   * @param {string | null} field what in the request is wrong
   */
  constructor(status, message, field = null) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

/**
 * One request.
 *
 * @param {string} method
 * @param {string} path
 * @param {{ body?: unknown, headers?: Record<string, string>, signal?: AbortSignal }} [options]
 * @returns {Promise<Response>} a success
 * @throws {ApiError}
 */
export async function send(method, path, { body, headers = {}, signal } = {}) {
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
  throw await explain(response);
}

/**
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
async function explain(response) {
  const text = await response.text();
  try {
    const { title, detail, field } = JSON.parse(text);
    const message = [detail, title].find((part) => typeof part === "string") ?? text;
    return new ApiError(response.status, message, typeof field === "string" ? field : null);
  } catch {
    return new ApiError(response.status, text.slice(0, 300) || `status ${response.status}`);
  }
}

/**
 * Reads JSON.
 *
 * @template Answer
 * @param {string} path
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<Answer>}
 * @throws {ApiError}
 */
export async function get(path, options) {
  return await (await send("GET", path, options)).json();
}

/**
 * The address of something of a run.
 *
 * @param {string} id
 * @param {string} [what] such as "metrics"
 * @param {Record<string, string | number | null>} [query] null and "" are left out
 */
export function runPath(id, what = "", query = {}) {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== "") words.set(name, String(value));
  }
  const text = words.toString();
  return `/api/runs/${encodeURIComponent(id)}${what && `/${what}`}${text && `?${text}`}`;
}
