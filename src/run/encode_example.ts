import type { Tokenizer } from "../model/tokenizer.ts";
import type { SupervisedSample } from "../rl/supervised_update.ts";

/**
 * A prompt and the response to imitate, with the token that ends it.
 *
 * @param weightOf how much a response token counts, by its text; by default 1
 */
export function encodeExample(
  tokenizer: Tokenizer,
  prompt: string,
  response: string,
  weightOf: (text: string) => number = () => 1,
): SupervisedSample {
  const end = tokenizer.specialToken("eos_token");
  const tokens = tokenizer.encode(response);
  const ids = end === null ? tokens : Uint32Array.of(...tokens, end);
  return {
    prompt: tokenizer.encode(prompt),
    response: ids,
    weights: Float32Array.from(tokenizer.decodeEach(ids), weightOf),
  };
}
