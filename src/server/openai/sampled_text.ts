import { TextStream } from "../../model/tokenizer/text_stream.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";

/** What ends a response. */
export interface Stops {
  readonly stopTokens: readonly number[];
  readonly stopStrings: readonly string[];
  /** Whether the stop string is part of the text. */
  readonly includesStop: boolean;
}

/** The text of a response whose tokens come one after another, up to what ends it. */
export class SampledText {
  readonly #stream: TextStream;
  readonly #stopTokens: ReadonlySet<number>;
  /** Characters at the end that may be the beginning of a stop string. */
  readonly #kept: number;
  #held = "";
  #isOver = false;

  constructor(tokenizer: Pick<Tokenizer, "decode">, private readonly stops: Stops) {
    this.#stream = new TextStream(tokenizer);
    this.#stopTokens = new Set(stops.stopTokens);
    this.#kept = Math.max(0, ...stops.stopStrings.map(({ length }) => length - 1));
  }

  /** The text that nothing to come can take back. */
  append(tokens: Iterable<number>): string {
    if (this.#isOver) return "";
    for (const token of tokens) {
      if (this.#stopTokens.has(token)) return this.end();
      this.#held += this.#stream.append(token);
    }
    return this.#cut() ?? this.#release(this.#held.length - this.#kept);
  }

  /** The rest, when no more tokens come. */
  end(): string {
    if (this.#isOver) return "";
    this.#held += this.#stream.end();
    return this.#cut() ?? this.#release(this.#held.length);
  }

  /** What stands before the first stop string; null when there is none. */
  #cut(): string | null {
    const { stopStrings, includesStop } = this.stops;
    const [first] = stopStrings.map((text) => ({ text, at: this.#held.indexOf(text) }))
      .filter(({ at }) => at >= 0)
      .sort((a, b) => a.at - b.at);
    if (!first) return null;
    this.#isOver = true;
    return this.#release(first.at + (includesStop ? first.text.length : 0));
  }

  #release(count: number): string {
    const text = this.#held.slice(0, Math.max(0, count));
    this.#held = this.#held.slice(text.length);
    return text;
  }
}
