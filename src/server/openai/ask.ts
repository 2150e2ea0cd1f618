import type { Context } from "hono";
import type { Response, SampledTokens } from "../../engine/sampling/request.ts";
import { streams } from "../../random/philox.ts";
import { RequestProblem } from "../http/problem.ts";
import type { RemoteRequest } from "../serving/messages.ts";
import type { Served } from "../serving/served_models.ts";
import type { Asking } from "./error.ts";
import type { SharedSampling } from "./sampling_fields.ts";

/** Who asks: requests of several take turns. */
export function clientOf({ req, env }: Context<Asking>, user: string | null = null): string {
  const said = ["authorization", "x-api-key", "x-session-id"].map((name) => req.header(name) ?? "");
  return JSON.stringify([user, ...(said.some(Boolean) ? said : [env?.peer ?? ""])]);
}

/**
 * What the sampler is asked: n responses to each prompt.
 *
 * @param field of the prompts
 * @param most tokens of a response; null: what the model's positions leave
 * @param told beside the tokens
 * @throws RequestProblem when a prompt is empty, has a token that the model does not know, or leaves no room
 */
export function requestsOf(
  { text: { config: { vocabularySize } }, info: { maximumTokens } }: Served,
  { prompts, field, shared, n, most, told }: {
    readonly prompts: readonly Uint32Array[];
    readonly field: string;
    readonly shared: SharedSampling;
    readonly n: number | null | undefined;
    readonly most: number | null | undefined;
    readonly told: Pick<RemoteRequest, "likeliest" | "promptLogProbs" | "promptLikeliest">;
  },
): RemoteRequest[] {
  return prompts.flatMap((prompt, p) => {
    const refuse = (message: string, blamed = field) => {
      throw new RequestProblem(400, `${blamed}: ${message}`, blamed);
    };
    const { length } = prompt;
    const room = maximumTokens - length;
    const unknown = prompt.find((token) => token >= vocabularySize);
    if (length === 0) refuse("it is empty; give at least one token.");
    if (unknown !== undefined) {
      refuse(`token ${unknown} is none; the model has ${vocabularySize}.`);
    }
    if (room <= 0) {
      refuse(`it has ${length} tokens, and the model takes ${maximumTokens} with the response.`);
    }
    if (most != null && most > room) {
      refuse(
        `${most} and a prompt of ${length} are more than the ${maximumTokens} tokens that the model takes.`,
        "max_tokens",
      );
    }
    return Array.from({ length: n ?? 1 }, (_, i) => ({
      ...shared,
      ...{ stream: streams.served, step: 0, sequenceId: p * (n ?? 1) + i },
      ...{ prompt, maximumResponse: most ?? room, ...told },
    }));
  });
}

/** Several responses that are waited for together: when one fails, or nobody waits, all are given up. */
export class AskedResponses {
  readonly #ending = new AbortController();

  /** @param signal of who asks */
  constructor(
    private readonly served: Pick<Served, "model" | "adapter">,
    private readonly client: string,
    // Deno tells nobody of a signal that was collected, and its listeners do not keep it.
    private readonly asking: AbortSignal,
  ) {
    if (asking.aborted) this.end();
    else asking.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Aborted when they are given up. */
  get signal(): AbortSignal {
    return this.#ending.signal;
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
    this.asking.removeEventListener("abort", this.#onAbort);
    this.#ending.abort();
  }

  readonly #onAbort = () => this.end();
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
