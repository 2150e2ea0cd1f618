/**
 * Byte-pair encoding learned from texts (Sennrich, Haddow, Birch 2016, arXiv:1508.07909), as Hugging Face tokenizer
 * files: the embedded tasks' characters and tags and the rest of ASCII, so that no English text is unknown, then the
 * most frequent pairs inside words. Digits stay single.
 */

import { characterTokenizer, characterTokenizerConfig, vocabularyTokens } from "../vocabulary.ts";

/** Where texts are cut before pairs are merged: words with the space before them, digits, white space, other signs. */
const PIECE = String.raw` ?[A-Za-z]+|\d|\s+|[^\sA-Za-z\d]`;

const ASCII = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i));

/** A piece of text, as the tokens it is made of so far, and how often it occurs. */
interface Piece {
  tokens: string[];
  readonly count: number;
}

/** Tokenizer files by their names. */
export interface TokenizerFiles {
  readonly "tokenizer.json": Readonly<Record<string, unknown>>;
  readonly "tokenizer_config.json": Readonly<Record<string, unknown>>;
}

/**
 * Learns merges from texts until there are so many tokens, or no pair occurs twice.
 *
 * @throws Error when so few tokens are asked for that not even every character is one
 */
export function trainTokenizer(texts: readonly string[], tokens: number): TokenizerFiles {
  const first = [...new Set([...vocabularyTokens, ...ASCII])];
  if (tokens < first.length) {
    throw new Error(`found ${tokens} tokens, expected ${first.length} or more`);
  }
  const merges = learnMerges(texts, tokens - first.length);
  const vocabulary = [...first, ...merges.map((pair) => pair.join(""))];
  const characters = characterTokenizer();
  return {
    "tokenizer.json": {
      ...characters,
      pre_tokenizer: {
        type: "Split",
        pattern: { Regex: PIECE },
        behavior: "Isolated",
        invert: false,
      },
      model: {
        ...characters.model,
        vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
        merges,
      },
    },
    "tokenizer_config.json": { ...characterTokenizerConfig() },
  };
}

/** The most frequent pair is merged first; among equals the one that comes first in the order of characters. */
function learnMerges(texts: readonly string[], most: number): [string, string][] {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const [piece] of text.matchAll(new RegExp(PIECE, "g"))) {
      counts.set(piece, (counts.get(piece) ?? 0) + 1);
    }
  }
  const pieces = Array.from(counts, ([text, count]): Piece => ({ tokens: [...text], count }));
  const merges: [string, string][] = [];
  // Two ways to the same text would be one token.
  const made = new Set<string>();
  while (merges.length < most) {
    const pair = mostFrequentPair(pieces, made);
    if (pair === null) break;
    merges.push(pair);
    made.add(pair.join(""));
    for (const piece of pieces) piece.tokens = merged(piece.tokens, pair);
  }
  return merges;
}

function mostFrequentPair(
  pieces: readonly Piece[],
  made: ReadonlySet<string>,
): [string, string] | null {
  const found = new Map<string, { pair: [string, string]; count: number }>();
  for (const { tokens, count } of pieces) {
    for (let i = 1; i < tokens.length; i++) {
      const pair: [string, string] = [tokens[i - 1], tokens[i]];
      const key = pair.join("\0");
      const entry = found.get(key) ?? { pair, count: 0 };
      entry.count += count;
      found.set(key, entry);
    }
  }
  let best: { key: string; pair: [string, string]; count: number } | null = null;
  for (const [key, { pair, count }] of found) {
    if (count < 2 || made.has(pair.join(""))) continue;
    if (!best || count > best.count || (count === best.count && key < best.key)) {
      best = { key, pair, count };
    }
  }
  return best && best.pair;
}

function merged(tokens: readonly string[], [left, right]: readonly [string, string]): string[] {
  const result: string[] = [];
  for (const token of tokens) {
    if (token === right && result.at(-1) === left) result[result.length - 1] = left + right;
    else result.push(token);
  }
  return result;
}
