import { closingBrace } from "../../grading/text/boxed.ts";

/**
 * What the last box of a written solution holds: published ones also say `\fbox{…}`, and `\boxed 5` without
 * braces, which gives what follows up to the end of the formula. Null when there is none or it is never closed.
 */
export function lastBoxAnswer(text: string): string | null {
  const start = [...text.matchAll(/\\(?:boxed|fbox)(?=[\s{])\s*/g)].at(-1);
  if (!start) return null;
  const from = start.index + start[0].length;
  if (text[from] !== "{") {
    return /^[^$\n]*?(?=\.?\s*(?:\$|\n|$))/.exec(text.slice(from))?.[0] || null;
  }
  const end = closingBrace(text, from + 1);
  return end < 0 ? null : text.slice(from + 1, end - 1).trim() || null;
}
