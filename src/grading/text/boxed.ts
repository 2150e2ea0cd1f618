const OPENING = "\\boxed{";

/** A `\boxed{…}` found in a text: its content and its character span, end exclusive. */
export interface Boxed {
  content: string;
  start: number;
  end: number;
}

/** Offset just after the brace that closes the one before `from`, or -1. `\{` and `\}` do not count. */
export function closingBrace(text: string, from: number): number {
  let depth = 1;
  for (let i = from; i < text.length; i++) {
    const character = text[i];
    if (character === "\\") i++;
    else if (character === "{") depth++;
    else if (character === "}" && --depth === 0) return i + 1;
  }
  return -1;
}

/** The last `\boxed{…}` of a text whose braces balance, or null. */
export function lastBoxed(text: string): Boxed | null {
  for (
    let start = text.lastIndexOf(OPENING);
    start >= 0;
    start = start === 0 ? -1 : text.lastIndexOf(OPENING, start - 1)
  ) {
    const contentStart = start + OPENING.length;
    const end = closingBrace(text, contentStart);
    if (end >= 0) return { content: text.slice(contentStart, end - 1), start, end };
  }
  return null;
}

/** Whether a text, apart from space around it, is one non-empty `\boxed{…}` and nothing else. */
export function isExactlyBoxed(text: string): boolean {
  const trimmed = text.trim();
  return trimmed.startsWith(OPENING) && trimmed.length > OPENING.length + 1 &&
    closingBrace(trimmed, OPENING.length) === trimmed.length;
}
