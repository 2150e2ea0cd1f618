import type { LikeliestTokens, Sampling } from "./request.ts";
import type { Sampler } from "./sampler.ts";

export type { Sampling } from "./request.ts";

/** A prompt and the responses wanted to it. */
export interface RolloutRequest {
  readonly prompt: Uint32Array;
  /** Ids of the wanted responses; the random numbers of a response depend on its id alone. */
  readonly sequenceIds: readonly number[];
  /** The most tokens in a response to it, where it has a bound of its own. */
  readonly maximumResponse?: number;
}

/** A sampled response. L tokens. */
export interface RolloutResponse {
  readonly sequenceId: number;
  /** [L], the stop token included when there was one */
  readonly tokens: Uint32Array;
  /** [L] log-probabilities under the sampling policy at its temperature */
  readonly logProbs: Float32Array;
  /** False when it was cut off at the maximum length. */
  readonly finished: boolean;
  /** [L, k]; only where they were asked for */
  readonly likeliest?: LikeliestTokens;
}

/** How responses are drawn, and what is told of them. */
export interface ToldSampling extends Sampling {
  /** How many of the likeliest tokens are told beside each token; 0 by default. */
  readonly likeliest?: number;
  /** Texts that end a response, wherever its tokens are cut; for them the sampler must have a tokenizer. */
  readonly stopStrings?: readonly string[];
}

/** Settings that all responses of a rollout share. */
export interface RolloutOptions extends ToldSampling {
  readonly stopTokens: readonly number[];
  /** The most tokens in a response. */
  readonly maximumResponse: number;
}

/** Listener to a rollout. */
export interface RolloutListener {
  /** Told each response as soon as it is there, and the place of its request. */
  ended?(response: RolloutResponse, request: number): void;
  /** Awaited between two steps, which may keep the thread busy from end to end. */
  between?(): Promise<void>;
}

/**
 * Samples responses to prompts and waits for all of them.
 *
 * @returns for each request its responses, in the order of its sequence ids
 * @throws UserError when a prompt with a longest response exceeds the model's positions
 */
export async function rollout(
  sampler: Sampler,
  requests: readonly RolloutRequest[],
  options: RolloutOptions,
  listener: RolloutListener = {},
): Promise<RolloutResponse[][]> {
  const ids: number[] = [];
  let left = 0;
  let isGivenUp = false;
  try {
    const results = requests.map((request, r) => {
      const responses: RolloutResponse[] = Array(request.sequenceIds.length);
      left += request.sequenceIds.length;
      const added = ask(sampler, request, options, (response, place) => {
        left--;
        responses[place] = response;
        if (!isGivenUp) listener.ended?.(response, r);
      });
      ids.push(...added);
      return responses;
    });
    while (left > 0) {
      const goesOn = await sampler.step();
      if (!goesOn && left > 0) throw new Error(`the sampler has lost ${left} responses`);
      await listener.between?.();
    }
    return results;
  } catch (error) {
    isGivenUp = true;
    for (const id of ids) sampler.abort(id);
    throw error;
  }
}

/** @returns a number for each response, for `Sampler.abort` */
function ask(
  sampler: Sampler,
  { prompt, sequenceIds, maximumResponse }: RolloutRequest,
  options: RolloutOptions,
  ended: (response: RolloutResponse, place: number) => void,
): number[] {
  return sequenceIds.map((sequenceId, place) =>
    sampler.add({
      ...options,
      maximumResponse: maximumResponse ?? options.maximumResponse,
      prompt,
      sequenceId,
      listener: {
        end: ({ tokens, logProbs, likeliest, end }) => {
          const finished = end.reason === "stop token" || end.reason === "stop string";
          const response = { sequenceId, tokens, logProbs, finished };
          ended(likeliest === null ? response : { ...response, likeliest }, place);
        },
      },
    })
  );
}

/** A rollout whose requests come while others are answered, which begins with the first of them. */
export class OpenRollout {
  #left = 0;
  #running: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;

  constructor(private readonly sampler: Sampler, private readonly options: RolloutOptions) {}

  /** Asks for responses to a prompt. What goes wrong is thrown by `finished`. */
  ask(request: RolloutRequest, ended: (response: RolloutResponse) => void): void {
    if (this.#failure) return;
    try {
      ask(this.sampler, request, this.options, (response) => {
        this.#left--;
        ended(response);
      });
      this.#left += request.sequenceIds.length;
    } catch (error) {
      this.#failure = { error };
    }
    this.#running ??= this.#run();
  }

  /**
   * Waits for all responses; nothing may be asked any more.
   *
   * @throws UserError when a prompt with a longest response exceeded the model's positions
   */
  async finished(): Promise<void> {
    await this.#running;
    if (this.#failure) throw this.#failure.error;
  }

  async #run(): Promise<void> {
    try {
      await messagesArrive();
      while (this.#left > 0 && !this.#failure) {
        const goesOn = await this.sampler.step();
        if (!goesOn && this.#left > 0) {
          throw new Error(`the sampler has lost ${this.#left} responses`);
        }
        await messagesArrive();
      }
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#running = null;
    }
  }
}

/** Waits one turn of the event loop, in which messages of other processes come and go. */
export function messagesArrive(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
