import { UserError } from "../../base/user_error.ts";
import { checkSampling } from "../../kernels/sampling/sample.ts";
import type { ModelConfig } from "../../model/decoder/config.ts";
import { pagesFor } from "./kv_cache.ts";
import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import type { SampleRequest } from "./request.ts";

/** The most tokens told beside one: each of them takes a walk over the logits. */
const mostLikeliest = 64;
/** The largest number in a 32-bit word of the GPU. */
const largestWord = 2 ** 32 - 1;

/**
 * Refuses what cannot be sampled.
 *
 * @param pages of the longest text that the cache holds
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
  const { likeliest = 0, promptLogProbs = false, promptLikeliest = 0 } = request;
  const most = Math.min(mostLikeliest, vocabularySize);
  checkWhole({ likeliest, promptLikeliest }, most);
  const { seed, stream, step, sequenceId } = request;
  checkWhole({ seed }, Number.MAX_SAFE_INTEGER);
  checkWhole({ stream, step, sequenceId }, largestWord);
  for (const token of request.stopTokens) checkWhole({ "stop token": token }, largestWord);
  if (stopStrings.includes("")) throw new UserError("A stop string is empty; leave it out.");
  const shortest = promptLogProbs || promptLikeliest > 0 ? 0 : 1;
  if (!Number.isInteger(maximumResponse) || maximumResponse < shortest) {
    throw new UserError(
      `The longest response is ${maximumResponse} tokens; expected a whole number from ${shortest} up.`,
    );
  }
  if (prompt.length + maximumResponse > maxPositions) {
    throw new UserError(
      `A prompt of ${prompt.length} tokens and a response of up to ${maximumResponse} exceed the ` +
        `model's ${maxPositions} positions; allow shorter responses, or give a shorter prompt.`,
    );
  }
  if (pagesFor(prompt.length + maximumResponse) > pages) {
    throw new UserError(
      `A prompt of ${prompt.length} tokens and a response of up to ${maximumResponse} exceed the ` +
        `cache's ${pages * pageTokens} tokens; shorten them or enlarge the cache.`,
    );
  }
}

/** @throws UserError naming the first that is no whole number from 0 to `largest` */
function checkWhole(values: Readonly<Record<string, number>>, largest: number): void {
  for (const [key, value] of Object.entries(values)) {
    if (Number.isInteger(value) && value >= 0 && value <= largest) continue;
    throw new UserError(`${key}: found ${value}, expected a whole number from 0 to ${largest}`);
  }
}
