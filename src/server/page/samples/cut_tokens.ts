/** A text's tokens, as samples.jsonl has them. */

import { unpackNumbers } from "../../../run/store/packed_numbers.ts";
import type { Sample } from "../../../run/store/samples_log.ts";
import type { SampleTokens } from "../../../run/store/sample_tokens.ts";

/** A text that was learned from, and its tokens. */
export interface TrainedText {
  readonly of: "solution" | "critique";
  readonly text: string;
  /** Where each token ends in the text; one without a text ends where the last did. */
  readonly ends: readonly number[];
  readonly advantages: readonly number[];
  /** Log p(training) − log p(sampling); null where not measured. */
  readonly differences: readonly number[] | null;
  /** Whether nothing was learned from it, whatever the advantages. */
  readonly isLeftOut: boolean;
}

export interface TokenPiece {
  /** All of a token, or what of it lies in one part of the text; may be "". */
  readonly text: string;
  /** Its place, from 0. */
  readonly token: number;
}

/**
 * The text of a sample that its step has trained, with its tokens; null when the sample has none or they do not
 * fit the text.
 */
export function trainedText(
  { solution, tokens, critiques }: Pick<Sample, "solution" | "tokens" | "critiques">,
): TrainedText | null {
  if (tokens !== undefined) return textWith("solution", solution, tokens);
  const trained = critiques.find((critique) => critique.tokens !== undefined);
  return trained?.tokens === undefined ? null : textWith("critique", trained.text, trained.tokens);
}

function textWith(of: TrainedText["of"], text: string, record: SampleTokens): TrainedText | null {
  let end = 0;
  const ends = unpackNumbers(record.lengths).map((length) => end += length);
  const advantages = unpackNumbers(record.advantages);
  const differences = record.logProbDifferences === undefined
    ? null
    : unpackNumbers(record.logProbDifferences);
  const fit = end === text.length && advantages.length === ends.length &&
    (differences === null || differences.length === ends.length);
  const isLeftOut = record.isLeftOut === true;
  return fit ? { of, text, ends, advantages, differences, isLeftOut } : null;
}

/** The text of one token. */
export function tokenText({ text, ends }: Pick<TrainedText, "text" | "ends">, token: number) {
  return text.slice(token === 0 ? 0 : ends[token - 1], ends[token]);
}

/**
 * Cuts parts of a text where its tokens end. A token that lies in two parts has a piece in each; one without a text
 * stands after what comes before it.
 *
 * @param parts together, the text
 * @returns by part
 */
export function cutTokens(parts: readonly string[], ends: readonly number[]): TokenPiece[][] {
  let token = 0;
  let begin = 0;
  return parts.map((text) => {
    const end = begin + text.length;
    const pieces: TokenPiece[] = [];
    let rest = text;
    for (; token < ends.length && ends[token] <= end; token++) {
      const length = ends[token] - begin;
      pieces.push({ text: rest.slice(0, length), token });
      rest = rest.slice(length);
      begin = ends[token];
    }
    if (rest !== "") pieces.push({ text: rest, token });
    begin = end;
    return pieces;
  });
}
