import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import type { SupervisedSample } from "../../rl/supervised_update.ts";

/** How an example ends, and what its tokens count. */
export interface ExampleOptions {
  /** The token that ends the response; null: the tokenizer's end of a sequence, if any. */
  readonly end?: number | null;
  /** How much a response token counts, by its text; by default 1. */
  readonly weightOf?: (text: string) => number;
}

/** A prompt and the response to imitate, with the token that ends it. */
export function encodeExample(
  tokenizer: Tokenizer,
  prompt: string,
  response: string,
  options: ExampleOptions = {},
): SupervisedSample {
  const { weightOf = () => 1 } = options;
  const end = options.end ?? tokenizer.specialToken("eos_token");
  const tokens = tokenizer.encode(response);
  const ids = end === null ? tokens : Uint32Array.of(...tokens, end);
  return {
    prompt: tokenizer.encode(prompt),
    response: ids,
    weights: Float32Array.from(tokenizer.decodeEach(ids), weightOf),
  };
}

/** What a token counts by its text: in critiques, judgments count `weight`. */
export function judgmentWeights(
  policy: "generator" | "verifier",
  weight: number,
): (text: string) => number {
  return (text) => policy === "verifier" && /CORRECT$/.test(text) ? weight : 1;
}
