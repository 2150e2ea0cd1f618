import assert from "node:assert/strict";
import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import { byte, sentencePiece, vocabulary } from "../sentencepiece_tokenizer.ts";

const ids = (tokens: readonly string[]) => tokens.map((token) => vocabulary.indexOf(token));
const bytesOf = (text: string) => Array.from(new TextEncoder().encode(text), byte);

/** Tokens, and the text that each adds, by hand. */
const cases: Record<string, readonly (readonly [token: string, text: string])[]> = {
  "the first space alone is left out": [["▁The", "The"], ["▁man", " man"], ["ner", "ner"]],
  "a space of its own at the start": [["▁", ""], ["▁The", " The"], ["▁▁", "  "], ["s", "s"]],
  "the bytes of a character belong to its last one": [
    ["▁co", "co"],
    ["st", "st"],
    ["▁", " "],
    ...bytesOf("€").map((token, i) => [token, i === 2 ? "€" : ""] as const),
    ["▁5", " 5"],
    ...bytesOf("😀").map((token, i) => [token, i === 3 ? "😀" : ""] as const),
  ],
  "special tokens add nothing": [
    ["</s>", ""],
    ["▁The", "The"],
    ["</s>", ""],
    ["</s>", ""],
    ["▁man", " man"],
    ["</s>", ""],
  ],
  "bytes that are no character": [
    ["▁5", "5"],
    ["<0xFF>", "\uFFFD"],
    ["<0xC3>", "\uFFFD"],
    ["!", "!"],
    ["<0xE2>", "\uFFFD"],
  ],
};

for (const [name, expected] of Object.entries(cases)) {
  Deno.test(`decodeEach, SentencePiece: ${name}`, () => {
    const tokens = ids(expected.map(([token]) => token));
    assert.deepEqual(sentencePiece.decodeEach(tokens), expected.map(([, text]) => text));
    assert.equal(sentencePiece.decode(tokens), expected.map(([, text]) => text).join(""));
  });
}

Deno.test("decodeEach decodes a few tokens for each token, however long the text", () => {
  const sentence = [
    "▁The",
    "▁man",
    "ner",
    "▁",
    ...bytesOf("né"),
    "▁co",
    "st",
    "s",
    "▁5",
    ".",
    "\n",
  ];
  const tokens = ids(Array.from({ length: 400 }, () => sentence).flat());
  const { decode } = HuggingFaceTokenizer.prototype;
  let decoded = 0;
  HuggingFaceTokenizer.prototype.decode = function (part, options) {
    decoded += part.length;
    return decode.call(this, part, options);
  };
  try {
    const texts = sentencePiece.decodeEach(tokens);
    const again = " The manner né costs 5.\n";
    assert.equal(texts.join(""), again.slice(1) + again.repeat(399));
    // Each token alone, in the whole text, and twice with its neighbours.
    assert.ok(decoded < 16 * tokens.length, `${decoded} for ${tokens.length} tokens`);
  } finally {
    HuggingFaceTokenizer.prototype.decode = decode;
  }
});
