/** Requests to the Hub: redirects, the token, broken and stalled connections. */

import { UserError } from "../base/user_error.ts";
import type { HubAccess } from "./access.ts";
import { TemporaryFailure } from "./retry.ts";
import { StallWatch } from "./stall_watch.ts";

/** The Hub answered that it does not give this. */
export class HubRefusal extends Error {
  override name = "HubRefusal";

  constructor(
    readonly status: number,
    /** The Hub's word for the reason, such as GatedRepo; null when it does not say. */
    readonly code: string | null,
    message: string,
  ) {
    super(message);
  }
}

/** An answer whose body arrives piece by piece. Close it, also after a failure. */
export interface HubResponse {
  readonly status: number;
  readonly headers: Headers;
  /** @throws TemporaryFailure when the connection breaks or stalls */
  readonly body: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

const MOST_REDIRECTS = 5;
const temporaryStatuses: readonly number[] = [408, 425, 429, 500, 502, 503, 504];
const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308];

/** Asks the Hub. */
export class HubClient {
  private wasReached = false;

  /** @param signal ends every request, with its reason as the error */
  constructor(readonly access: HubAccess, private readonly signal: AbortSignal) {}

  /**
   * Asks for `path` and follows redirects. The token goes to the endpoint alone, never to the servers
   * that it redirects to. An answer has status 200, 206 or 416.
   *
   * @throws TemporaryFailure when it may succeed later
   * @throws HubRefusal when the Hub says no
   * @throws UserError when the server cannot be reached at all, or redirects without end
   */
  async open(path: string, headers: Readonly<Record<string, string>> = {}): Promise<HubResponse> {
    let url = new URL(this.access.endpoint + path);
    for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
      const response = await this.send(url, headers);
      const location = response.headers.get("location");
      if (!redirectStatuses.includes(response.status) || location === null) {
        return await checkStatus(response);
      }
      await response.close();
      const next = URL.parse(location, url);
      if (next === null || !/^https?:$/.test(next.protocol)) {
        throw new UserError(`${url} redirects to ${location}; expected a web address.`);
      }
      url = next;
    }
    throw new UserError(
      `${this.access.endpoint}${path} redirects more than ${MOST_REDIRECTS} times. ` +
        `Check HF_ENDPOINT and the proxy.`,
    );
  }

  private async send(url: URL, headers: Readonly<Record<string, string>>): Promise<HubResponse> {
    const { endpoint, token } = this.access;
    const isEndpoint = url.origin === new URL(endpoint).origin;
    const watch = new StallWatch(this.signal);
    try {
      const response = await fetch(url, {
        redirect: "manual",
        signal: watch.signal,
        headers: {
          ...headers,
          "accept-encoding": "identity", // sizes and ranges are those of the file
          ...(token !== null && isEndpoint ? { authorization: `Bearer ${token}` } : {}),
        },
      });
      this.wasReached = true;
      return watchedResponse(response, watch);
    } catch (error) {
      watch.stop();
      this.signal.throwIfAborted();
      const reason = reasonOf(error);
      if (this.wasReached) throw new TemporaryFailure(`${url.host} cannot be reached (${reason})`);
      throw new UserError(
        `${url.origin} cannot be reached: ${reason}. Check the network, and HF_ENDPOINT and ` +
          `HTTPS_PROXY if you need them.`,
      );
    }
  }
}

function watchedResponse(response: Response, watch: StallWatch): HubResponse {
  const reader = response.body?.getReader();
  async function* pieces(): AsyncGenerator<Uint8Array> {
    while (reader !== undefined) {
      let piece: ReadableStreamReadResult<Uint8Array>;
      try {
        piece = await reader.read();
      } catch (error) {
        watch.outer.throwIfAborted();
        throw new TemporaryFailure(`the connection broke (${reasonOf(error)})`);
      }
      watch.touch();
      if (piece.done) return;
      yield piece.value;
    }
  }
  return {
    status: response.status,
    headers: response.headers,
    body: pieces(),
    async close() {
      watch.stop();
      await reader?.cancel().catch(() => {}); // a broken connection is closed already
    },
  };
}

async function checkStatus(response: HubResponse): Promise<HubResponse> {
  const { status, headers } = response;
  if (status === 200 || status === 206 || status === 416) return response;
  await response.close();
  if (temporaryStatuses.includes(status)) {
    const seconds = Number(headers.get("retry-after") ?? NaN);
    throw new TemporaryFailure(
      status === 429
        ? "the server wants fewer requests (429)"
        : `the server has a problem (${status})`,
      Number.isFinite(seconds) ? seconds : null,
    );
  }
  throw new HubRefusal(
    status,
    headers.get("x-error-code"),
    headers.get("x-error-message") ?? "no reason given",
  );
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
