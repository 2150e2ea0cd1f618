import { TextStream } from "../../model/tokenizer/text_stream.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";

/** Looks for stop strings in the text of tokens that come one after another. */
export class StopStrings {
  readonly #stream: TextStream;
  readonly #longest: number;
  /** The end of the text so far, in which no stop string is whole. */
  #tail = "";

  constructor(tokenizer: Pick<Tokenizer, "decode">, private readonly strings: readonly string[]) {
    this.#stream = new TextStream(tokenizer);
    this.#longest = Math.max(...strings.map(({ length }) => length));
  }

  /** Takes a token. @returns the stop string that it completes, the first in the text, or null */
  append(token: number): string | null {
    const text = this.#tail + this.#stream.append(token);
    const places = this.strings
      .map((string) => ({ string, at: text.indexOf(string) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at);
    this.#tail = this.#longest > 1 ? text.slice(1 - this.#longest) : "";
    return places[0]?.string ?? null;
  }
}
