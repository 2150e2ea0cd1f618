/** How texts are cut before their bytes are merged, by the names that GGUF files have for it. */

import assert from "node:assert/strict";
import { ggufTokenizer } from "../../../src/model/weights/gguf_tokenizer.ts";

const TEXT = "HelloWorld JSONParser I'LL don't 12345678 /\n\n x  y";
/** Letters with vowels that are marks of their own, which nothing composes. */
const MARKED = "\u0915\u093F \u0915\u0941!";

/** GPT-2's letters for bytes: those that can be seen stand for themselves, the others for letters from 256 on. */
const lettersOf = (text: string) => {
  const isSeen = (byte: number) => byte > 32 && byte < 127 || byte > 160 && byte !== 173;
  const bytes = Array.from({ length: 256 }, (_, byte) => byte);
  const hidden = bytes.filter((byte) => !isSeen(byte));
  return Array.from(
    new TextEncoder().encode(text),
    (byte) => String.fromCharCode(isSeen(byte) ? byte : 256 + hidden.indexOf(byte)),
  ).join("");
};

/** A token for every part of the text of up to 12 letters, and every way to put it together: a piece becomes one. */
function vocabularyOf(text: string): { tokens: string[]; merges: string[] } {
  const letters = lettersOf(text);
  const tokens = new Set(["<eos>", ...letters]);
  const merges = new Set<string>();
  for (let length = 2; length <= 12; length++) {
    for (let first = 0; first + length <= letters.length; first++) {
      const part = letters.slice(first, first + length);
      tokens.add(part);
      for (let cut = 1; cut < length; cut++) merges.add(`${part.slice(0, cut)} ${part.slice(cut)}`);
    }
  }
  return { tokens: [...tokens], merges: [...merges] };
}

/** What llama.cpp (that of node-llama-cpp 3.22.1) makes of the text with this vocabulary, by names. */
// deno-fmt-ignore
const CUTS: readonly (readonly [names: readonly string[], pieces: string, text?: string])[] = [
  [["gpt-2"], "HelloWorld| JSONParser| I|'|LL| don|'t| 12345678| /|\n\n| x| | y"],
  [["smollm", "refact"], "HelloWorld| JSONParser| I|'|LL| don|'t| |1|2|3|4|5|6|7|8| /|\n\n| x| | y"],
  [["llama-bpe", "smaug-bpe"], "HelloWorld| JSONParser| I|'LL| don|'t| |123|456|78| /\n\n| x| | y"],
  [["qwen2", "qwen35"], "HelloWorld| JSONParser| I|'LL| don|'t| |1|2|3|4|5|6|7|8| /\n\n| x| | y"],
  [["gpt-4o"], "Hello|World| JSONParser| I'LL| don't| |123|456|78| /\n\n| x| | y"],
  [["tekken"], "Hello|World| JSONParser| I|'LL| don|'t| |1|2|3|4|5|6|7|8| /\n\n| x| | y"],
  [["qwen2"], "\u0915|\u093F| \u0915|\u0941!", MARKED],
  [["qwen35"], "\u0915\u093F| \u0915\u0941|!", MARKED],
];

const all = CUTS.flatMap(([names, pieces, text = TEXT]) =>
  names.map((pre) => ({ pre, pieces, text }))
);
for (const { pre, pieces, text } of all) {
  Deno.test(`gguf: ${pre} cuts ${text === TEXT ? "a text" : "marks"} as llama.cpp does`, () => {
    const { tokens, merges } = vocabularyOf(text);
    const tokenizer = ggufTokenizer({
      path: "file.gguf",
      metadata: {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": tokens.map((_, id) => id === 0 ? 3 : 1),
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.eos_token_id": 0,
      },
      tensors: new Map(),
      read: () => new Uint8Array(),
      [Symbol.dispose]: () => {},
    });
    assert.deepEqual(
      [...tokenizer.encode(text)].map((id) => tokenizer.decode([id])),
      pieces.split("|"),
    );
  });
}
