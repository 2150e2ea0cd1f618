/** Tokens that may wait for a later one, as the bytes of one character do, before all of the text is looked at again. */
const longestWait = 32;

/**
 * The text that each token adds to `whole`, the text of all of them; joined, they are exactly `whole`.
 *
 * A token's text may depend on its neighbours: leading spaces vanish at the start of a text, and the bytes of one
 * character are shared out over tokens. So each token is decoded together with the few before it; what it adds counts
 * as far as it agrees with `whole`, and the rest goes to the token that settles it. Every decoded piece is short, so
 * the work grows with the number of tokens.
 *
 * @param decode gives the text of `ids`
 */
export function tokenTexts(
  ids: readonly number[],
  whole: string,
  decode: (ids: readonly number[]) => string,
): string[] {
  const texts: string[] = [];
  let context = 0; // where the tokens begin that are decoded along
  let settled = 0; // the tokens before this one give exactly whole.slice(0, offset)
  let offset = 0;
  let contextText = "";
  let end = 0; // of the text given out so far
  ids.forEach((_, i) => {
    const text = decode(ids.slice(context, i + 1));
    let added = text.slice(contextText.length);
    if (!text.startsWith(contextText) || i - settled >= longestWait) {
      context = settled = offset = 0;
      contextText = "";
      added = decode(ids.slice(0, i + 1));
    }
    const agreed = offset + commonPrefix(added, whole, offset);
    const next = i === ids.length - 1 ? whole.length : Math.max(end, agreed);
    texts.push(whole.slice(end, next));
    end = next;
    if (agreed === offset + added.length) {
      // Tokens without a text are no context for a leading space.
      if (added !== "") context = settled;
      settled = i + 1;
      offset = agreed;
      contextText = decode(ids.slice(context, settled));
    }
  });
  return texts;
}

function commonPrefix(a: string, b: string, start: number): number {
  let length = 0;
  while (length < a.length && a[length] === b[start + length]) length++;
  return length;
}
