/** A character span of a text, in UTF-16 code units, end exclusive. */
export interface CharacterSpan {
  start: number;
  end: number;
}

/**
 * For every span, the index of the token that holds its last character.
 *
 * The text is the concatenation of `tokenTexts`, the response's own tokens as its own tokenizer
 * decodes them, so the result is right whatever tokenizer the other policy uses.
 * @param spans in any order; each must be non-empty and lie inside the text.
 * @throws Error when a span is empty or reaches outside the text.
 */
export function lastTokenOfSpans(
  tokenTexts: readonly string[],
  spans: readonly CharacterSpan[],
): number[] {
  const tokenEnds: number[] = [];
  let length = 0;
  for (const text of tokenTexts) tokenEnds.push(length += text.length);
  return spans.map(({ start, end }) => {
    if (!(start >= 0 && start < end && end <= length)) {
      throw new Error(
        `span [${start}, ${end}) does not lie inside the response of ${length} characters; ` +
          "spans must be found in the text that the response tokens decode to",
      );
    }
    return firstAtLeast(tokenEnds, end);
  });
}

/**
 * For every span, the tokens that hold its first and its last character.
 * @throws Error as `lastTokenOfSpans` does.
 */
export function tokenSpans(
  tokenTexts: readonly string[],
  spans: readonly CharacterSpan[],
): { first: number; last: number }[] {
  const firsts = lastTokenOfSpans(
    tokenTexts,
    spans.map(({ start }) => ({ start, end: start + 1 })),
  );
  return lastTokenOfSpans(tokenTexts, spans).map((last, s) => ({ first: firsts[s], last }));
}

/** Index of the first value that is at least `bound`; the values ascend and the last one is. */
function firstAtLeast(values: readonly number[], bound: number): number {
  let low = 0, high = values.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] >= bound) high = middle;
    else low = middle + 1;
  }
  return low;
}
