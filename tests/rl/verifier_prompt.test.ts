import assert from "node:assert/strict";
import { characterTokenizer, characterTokenizerConfig } from "../../src/data/vocabulary.ts";
import { Tokenizer } from "../../src/model/tokenizer/tokenizer.ts";
import type { Policy } from "../../src/rl/policy.ts";
import type { VerifierTemplate } from "../../src/rl/prompt_template.ts";
import { verifierPrompt } from "../../src/rl/verifier_prompt.ts";

const tokenizer = Tokenizer.fromJson(
  { ...characterTokenizer() },
  { ...characterTokenizerConfig() },
  "the character vocabulary",
);

/** One token a character. */
const verifier = {
  tokenizer,
  template: { render: ({ question, solution, steps }) => `${question}?${solution} ${steps}` },
  config: { maxPositions: 30 },
  maximumResponse: 10,
  maximumPrompt: null,
} as Policy<VerifierTemplate>;

const ask = (solution: string, of = verifier) => {
  const { prompt, isCut } = verifierPrompt(of, { question: "cat", solution, steps: 2 });
  return { text: tokenizer.decode(prompt), isCut };
};

Deno.test("verifier prompt: a solution that fits is left as it is", () => {
  // 4 characters before it, 2 after, 20 in all.
  assert.deepEqual(ask("abcdefghijklmn"), { text: "cat?abcdefghijklmn 2", isCut: false });
});

Deno.test("verifier prompt: one that does not loses its end, and no more than it must", () => {
  assert.deepEqual(ask("abcdefghijklmno"), { text: "cat?abcdefghijklmn 2", isCut: true });
  assert.deepEqual(ask("ab".repeat(500)), { text: `cat?${"ab".repeat(7)} 2`, isCut: true });
});

Deno.test("verifier prompt: the longest prompt that is wanted may be shorter than the positions allow", () => {
  const short = { ...verifier, maximumPrompt: 12 };
  assert.deepEqual(ask("abcdef", short), { text: "cat?abcdef 2", isCut: false });
  assert.deepEqual(ask("abcdefg", short), { text: "cat?abcdef 2", isCut: true });
  const long = { ...verifier, maximumPrompt: 29 };
  assert.deepEqual(ask("abcdefghijklmno", long), ask("abcdefghijklmno"));
});

Deno.test("verifier prompt: a question that is too long by itself stays too long", () => {
  const { prompt } = verifierPrompt(verifier, {
    question: "c".repeat(40),
    solution: "ab",
    steps: 1,
  });
  assert.equal(prompt.length, 43);
});
