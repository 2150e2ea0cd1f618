import assert from "node:assert/strict";
import { characterTokenizer, characterTokenizerConfig } from "../../../src/data/vocabulary.ts";
import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";
import { encodeExample } from "../../../src/run/problems/encode_example.ts";
import { mergedTokenizer } from "../../model/merged_tokenizer.ts";

const critique = "<step>a: 1 \\boxed{INCORRECT}</step><final_verification>\\boxed{CORRECT}" +
  "</final_verification>";

/** The texts of the tokens that count 5 when judgments do, and of those that count 1. */
function byWeight(tokenizer: Tokenizer): { judgments: string; others: string } {
  const { response, weights } = encodeExample(tokenizer, "a", critique, { judgmentWeight: 5 });
  const texts = tokenizer.decodeEach(response);
  const counting = (weight: number) => texts.filter((_, i) => weights[i] === weight).join(" ");
  assert.ok(weights.every((weight) => weight === 1 || weight === 5));
  return { judgments: counting(5), others: counting(1) };
}

Deno.test("a judgment's weight is that of its token, or of all its tokens when it is cut", () => {
  const whole = Tokenizer.fromJson(
    { ...characterTokenizer() },
    { ...characterTokenizerConfig() },
    "tokenizer.json",
  );
  assert.equal(byWeight(whole).judgments, "INCORRECT CORRECT");
  const cut = byWeight(mergedTokenizer());
  assert.equal(cut.judgments, "I N C O R R E C T C O R R E C T");
  assert.doesNotMatch(cut.others, /[CORETIN]/);
});

Deno.test("without a weight of their own all tokens count 1, and the end too", () => {
  const tokenizer = mergedTokenizer();
  const { response, weights } = encodeExample(tokenizer, "a", critique, { end: 0 });
  assert.equal(response.at(-1), 0);
  assert.deepEqual([...weights], Array.from(response, () => 1));
});
