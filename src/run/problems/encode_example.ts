import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import type { SupervisedSample } from "../../rl/update/supervised_update.ts";

/** How an example ends, and what its tokens count. */
export interface ExampleOptions {
  /** The token that ends the response; null: the tokenizer's end of a sequence, if any. */
  readonly end?: number | null;
  /** Weight of each token of a judgment in the loss, in critiques; other tokens, and judgments by default, count 1. */
  readonly judgmentWeight?: number;
}

/** A prompt and the response to imitate, with the token that ends it. */
export function encodeExample(
  tokenizer: Tokenizer,
  prompt: string,
  response: string,
  options: ExampleOptions = {},
): SupervisedSample {
  const end = options.end ?? tokenizer.specialToken("eos_token");
  const tokens = tokenizer.encode(response);
  const ids = end === null ? tokens : Uint32Array.of(...tokens, end);
  return {
    prompt: tokenizer.encode(prompt),
    response: ids,
    weights: judgmentWeights(tokenizer.decodeEach(ids), options.judgmentWeight ?? 1),
  };
}

/** The word inside \boxed{…}, which a tokenizer may cut into several tokens. */
const JUDGMENT = /(?<=\\boxed\{)(?:IN)?CORRECT(?=\})/g;

/** Weights of tokens, by their texts: `weight` where it holds a part of a judgment, else 1. */
function judgmentWeights(tokenTexts: readonly string[], weight: number): Float32Array<ArrayBuffer> {
  const weights = new Float32Array(tokenTexts.length).fill(1);
  const judgments = [...tokenTexts.join("").matchAll(JUDGMENT)];
  let start = 0;
  tokenTexts.forEach((text, i) => {
    const end = start + text.length;
    const holds = judgments.some(({ index, 0: word }) =>
      index < end && start < index + word.length
    );
    if (holds) weights[i] = weight;
    start = end;
  });
  return weights;
}
