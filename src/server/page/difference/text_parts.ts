import type { DifferentText } from "../../../run/difference/samples_difference.ts";

/** A text cut where it parts from another. */
export interface TextParts {
  /** What both have. */
  readonly common: string;
  /** The first token that is another, or character; "" where it adds no text or the text is over. */
  readonly first: string;
  readonly rest: string;
}

/** Cuts a text where it parts from another, which is the same before `begin`. */
export function textParts({ text, end }: DifferentText, begin: number): TextParts {
  return { common: text.slice(0, begin), first: text.slice(begin, end), rest: text.slice(end) };
}
