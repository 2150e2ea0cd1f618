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
 * @returns for each request its responses, in the order of its sequence ids
 * @throws UserError when a prompt with a longest response exceeds the model's positions
 */
export async function rollout(
  sampler: Sampler,
  requests: readonly RolloutRequest[],
  options: RolloutOptions,
): Promise<RolloutResponse[][]> {
  const ids: number[] = [];
  let left = 0;
  try {
    const results = requests.map(({ prompt, sequenceIds }) => {
      const responses: RolloutResponse[] = Array(sequenceIds.length);
      sequenceIds.forEach((sequenceId, place) => {
        left++;
        ids.push(sampler.add({
          ...options,
          prompt,
          sequenceId,
          listener: {
            end: ({ tokens, logProbs, end }) => {
              left--;
              const finished = end.reason === "stop token";
              responses[place] = { sequenceId, tokens, logProbs, finished };
            },
          },
        }));
      });
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
