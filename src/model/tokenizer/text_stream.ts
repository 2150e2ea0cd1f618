import type { Tokenizer } from "./tokenizer.ts";

/** Tokens on which the text of the next may depend: those of its character, and one with a text before it. */
const window = 8;

/** A text without what its end shows in place of a character of which bytes are still to come. */
const certain = (text: string) => text.replace(/\ufffd{1,3}$/, "");

/**
 * The text of tokens that come one after another, in time that does not grow with what came before: each is
 * decoded beside the few before it (leading spaces, bytes of one character).
 */
export class TextStream {
  #tokens: number[] = [];

  constructor(private readonly tokenizer: Pick<Tokenizer, "decode">) {}

  /** The text that is certain with this token and was not before. */
  append(token: number): string {
    const before = certain(this.tokenizer.decode(this.#tokens));
    this.#tokens.push(token);
    const text = certain(this.tokenizer.decode(this.#tokens));
    const last = this.#tokens.slice(-window);
    // Tokens without a text say nothing of the next one's.
    if (this.tokenizer.decode(last) !== "") this.#tokens = last;
    return text.slice(commonPrefix(before, text));
  }

  /** The text that was held back, when no more tokens come. */
  end(): string {
    const text = this.tokenizer.decode(this.#tokens);
    this.#tokens = [];
    return text.slice(certain(text).length);
  }
}

function commonPrefix(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}
