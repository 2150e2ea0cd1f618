import type { Sampling } from "./request.ts";
import type { Sampler } from "./sampler.ts";

export type { Sampling } from "./request.ts";

/** A prompt and the responses wanted to it. */
export interface RolloutRequest {
  readonly prompt: Uint32Array;
  /** One response for each; the random numbers of a response depend on its id alone. */
  readonly sequenceIds: readonly number[];
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
}

/** What all responses of a rollout have in common. */
export interface RolloutOptions extends Sampling {
  readonly stopTokens: readonly number[];
  /** The most tokens in a response. */
  readonly maximumResponse: number;
}

/**
 * Samples responses to prompts and waits for all of them.
 *
 * @param ended told each response as soon as it is there, and the place of its request
 * @returns for each request its responses, in the order of its sequence ids
 * @throws UserError when a prompt with a longest response exceeds the model's positions
 */
export async function rollout(
  sampler: Sampler,
  requests: readonly RolloutRequest[],
  options: RolloutOptions,
  ended: (response: RolloutResponse, request: number) => void = () => {},
): Promise<RolloutResponse[][]> {
  const ids: number[] = [];
  let left = 0;
  try {
    const results = requests.map((request, r) => {
      const responses: RolloutResponse[] = Array(request.sequenceIds.length);
      left += request.sequenceIds.length;
      const added = ask(sampler, request, options, (response, place) => {
        left--;
        responses[place] = response;
        ended(response, r);
      });
      ids.push(...added);
      return responses;
    });
    while (left > 0) {
      const goesOn = await sampler.step();
      if (!goesOn && left > 0) throw new Error(`the sampler has lost ${left} responses`);
    }
    return results;
  } catch (error) {
    for (const id of ids) sampler.abort(id);
    throw error;
  }
}

/** @returns a number for each response, for `Sampler.abort` */
function ask(
  sampler: Sampler,
  { prompt, sequenceIds }: RolloutRequest,
  options: RolloutOptions,
  ended: (response: RolloutResponse, place: number) => void,
): number[] {
  return sequenceIds.map((sequenceId, place) =>
    sampler.add({
      ...options,
      prompt,
      sequenceId,
      listener: {
        end: ({ tokens, logProbs, end }) =>
          ended({ sequenceId, tokens, logProbs, finished: end.reason === "stop token" }, place),
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
      // A step may keep the thread busy from end to end; further requests arrive in between.
      const turn = () => new Promise((resolve) => setTimeout(resolve, 0));
      await turn();
      while (this.#left > 0 && !this.#failure) {
        await this.sampler.step();
        await turn();
      }
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#running = null;
    }
  }
}
