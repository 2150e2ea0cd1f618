import type { Context } from "hono";
import { randomUUID } from "node:crypto";
import type { Response, SampledTokens } from "../../engine/sampling/request.ts";
import { RequestProblem } from "../http/problem.ts";
import type { RemoteRequest } from "../serving/messages.ts";
import type { Served } from "../serving/served_models.ts";
import type { Asking } from "./error.ts";

/** Who asks: requests of several take turns. */
export function clientOf({ req, env }: Context<Asking>, user: string | null = null): string {
  const said = ["authorization", "x-api-key", "x-session-id"].map((name) => req.header(name) ?? "");
  return JSON.stringify([user, ...(said.some(Boolean) ? said : [env?.peer ?? ""])]);
}

/** A name for an answer. */
export const answerId = (kind: string) => `${kind}-${randomUUID().replaceAll("-", "")}`;

/** Seconds since 1970. */
export const unixSeconds = () => Math.floor(Date.now() / 1000);

/** Of a prompt's ids. @throws RequestProblem when there are none, or one that the model does not know */
export function checkPrompt(
  { text: { config: { vocabularySize } }, info: { maximumTokens } }: Served,
  prompt: Uint32Array,
  field: string,
): void {
  if (prompt.length === 0) {
    throw new RequestProblem(400, `${field}: it is empty; give at least one token.`, field);
  }
  const unknown = prompt.find((token) => token >= vocabularySize);
  if (unknown !== undefined) {
    const message = `${field}: token ${unknown} is none; the model has ${vocabularySize}.`;
    throw new RequestProblem(400, message, field);
  }
  if (prompt.length >= maximumTokens) {
    throw new RequestProblem(
      400,
      `${field}: it has ${prompt.length} tokens, and the model takes ${maximumTokens} with the response.`,
      field,
    );
  }
}

/** The longest response. @throws RequestProblem when a prompt leaves no room for what is asked */
export function longestResponse(
  { info: { maximumTokens } }: Served,
  prompt: Uint32Array,
  asked: number | null,
): number {
  const room = maximumTokens - prompt.length;
  if (asked === null || asked <= room) return Math.max(1, asked ?? room);
  throw new RequestProblem(
    400,
    `max_tokens: ${asked} and a prompt of ${prompt.length} are more than the ${maximumTokens} tokens ` +
      `that the model takes.`,
    "max_tokens",
  );
}

/** Several responses that are waited for together: when one fails, or nobody waits, all are given up. */
export class AskedResponses {
  readonly #ending = new AbortController();

  /** @param signal of who asks */
  constructor(
    private readonly served: Pick<Served, "model" | "adapter">,
    private readonly client: string,
    // Deno tells nobody of a signal that was collected, and its listeners do not keep it.
    private readonly signal: AbortSignal,
  ) {
    if (signal.aborted) this.end();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** @param onTokens told the tokens of a response as they come, and its place */
  async all(
    requests: readonly RemoteRequest[],
    onTokens?: (next: SampledTokens, place: number) => void,
    onEnd: (response: Response, place: number) => void = () => {},
  ): Promise<Response[]> {
    try {
      return await Promise.all(requests.map(async (request, place) => {
        const { client, served: { model, adapter } } = this;
        const asked = onTokens
          ? { request, adapter, client, onTokens: (next: SampledTokens) => onTokens(next, place) }
          : { request, adapter, client };
        const response = await model.sample(asked, this.#ending.signal);
        onEnd(response, place);
        return response;
      }));
    } catch (error) {
      this.end();
      throw error;
    }
  }

  end(): void {
    this.signal.removeEventListener("abort", this.#onAbort);
    this.#ending.abort();
  }

  readonly #onAbort = () => this.end();
}

/** Tokens of an answer. */
export function usageOf(prompts: readonly Uint32Array[], responses: readonly Response[]) {
  const prompt_tokens = prompts.reduce((sum, { length }) => sum + length, 0);
  const completion_tokens = responses.reduce((sum, { tokens }) => sum + tokens.length, 0);
  const cached_tokens = responses.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0);
  return {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens },
  };
}

/** Why a response ended, in OpenAI's words and vLLM's. */
export function finishOf(response: Response) {
  const { end } = response;
  switch (end.reason) {
    case "stop token":
      return { finish_reason: "stop", stop_reason: end.token } as const;
    case "stop string":
      return { finish_reason: "stop", stop_reason: end.text } as const;
    case "length":
      return { finish_reason: "length", stop_reason: null } as const;
    case "aborted":
      return { finish_reason: "abort", stop_reason: null } as const;
  }
}
