import { UserError } from "../../base/user_error.ts";
import { checkSampling } from "../../kernels/sample.ts";
import type { ModelConfig } from "../../model/decoder/config.ts";
import { pagesFor } from "./kv_cache.ts";
import { pageTokens } from "../../kernels/attention_shape.ts";
import type { SampleRequest } from "./request.ts";

/** The most tokens told beside one: each of them takes a walk over the logits. */
const mostLikeliest = 64;

/**
 * Refuses what cannot be sampled.
 *
 * @param pages of the cache
 * @throws UserError naming what was found and what is possible
 */
export function checkRequest(request: SampleRequest, config: ModelConfig, pages: number): void {
  const { prompt, maximumResponse, stopStrings = [] } = request;
  const { vocabularySize, maxPositions } = config;
  checkSampling(request);
  if (prompt.length === 0) throw new UserError("The prompt is empty; give at least one token.");
  const unknown = prompt.find((token) => token >= vocabularySize);
  if (unknown !== undefined) {
    throw new UserError(
      `The prompt has token ${unknown}, and the model a vocabulary of ${vocabularySize}.`,
    );
  }
  const { likeliest = 0, promptLikeliest = 0 } = request;
  for (const [key, count] of Object.entries({ likeliest, promptLikeliest })) {
    if (Number.isInteger(count) && count >= 0 && count <= Math.min(mostLikeliest, vocabularySize)) {
      continue;
    }
    throw new UserError(
      `${key}: found ${count}, expected a whole number from 0 to ` +
        `${Math.min(mostLikeliest, vocabularySize)}`,
    );
  }
  if (stopStrings.includes("")) throw new UserError("A stop string is empty; leave it out.");
  if (!Number.isInteger(maximumResponse) || maximumResponse < 1) {
    throw new UserError(
      `The longest response is ${maximumResponse} tokens; expected a whole number from 1 up.`,
    );
  }
  if (prompt.length + maximumResponse > maxPositions) {
    throw new UserError(
      `A prompt of ${prompt.length} tokens and a response of up to ${maximumResponse} exceed the ` +
        `model's ${maxPositions} positions; lower max_response_length.`,
    );
  }
  if (pagesFor(prompt.length + maximumResponse) > pages) {
    throw new UserError(
      `A prompt of ${prompt.length} tokens and a response of up to ${maximumResponse} exceed the ` +
        `cache's ${pages * pageTokens} tokens; shorten them or enlarge the cache.`,
    );
  }
}
