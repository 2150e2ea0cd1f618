/**
 * What the last `\boxed{…}` (or `\fbox{…}`) of a text holds, braces inside it included; `\boxed 5` without
 * braces gives what follows up to the end of the formula. Null when there is none or it is never closed.
 */
export function lastBoxed(text: string): string | null {
  const start = [...text.matchAll(/\\(?:boxed|fbox)(?=[\s{])\s*/g)].at(-1);
  if (!start) return null;
  const from = start.index + start[0].length;
  if (text[from] !== "{") {
    return /^[^$\n]*?(?=\.?\s*(?:\$|\n|$))/.exec(text.slice(from))?.[0] || null;
  }
  let depth = 0;
  for (let position = from; position < text.length; position++) {
    const character = text[position];
    if (character === "\\") position++;
    else if (character === "{") depth++;
    else if (character === "}" && --depth === 0) {
      return text.slice(from + 1, position).trim() || null;
    }
  }
  return null;
}
