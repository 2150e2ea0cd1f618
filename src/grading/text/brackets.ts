/** One sign of cleaned LaTeX: a quoted text, a command, an escaped sign or a single character. */
const TOKEN = /"[^"]*"|\\[a-zA-Z]+|\\[^a-zA-Z]|[^]/g;

const OPENING = new Set(["(", "[", "{", "\\{", "\\langle", "\\lfloor", "\\lceil", "\\begin"]);
const CLOSING = new Set([")", "]", "}", "\\}", "\\rangle", "\\rfloor", "\\rceil", "\\end"]);

/** Deeper nesting than any answer has; what is deeper is treated as unbalanced. */
const MAXIMUM_DEPTH = 40;

/** The signs of a cleaned text; joined, they are the text. */
export function tokenize(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/** Parts of a text between separators, and the separators between them (one fewer than parts). */
export interface TopLevelSplit {
  parts: string[];
  separators: string[];
}

/**
 * Splits at the separators that lie in no brackets, braces or quotes. The kinds of brackets need not
 * match, for intervals such as `[1,2)`. Null where they do not balance or nest too deep.
 */
export function splitTopLevel(text: string, separators: ReadonlySet<string>): TopLevelSplit | null {
  const split: TopLevelSplit = { parts: [""], separators: [] };
  let depth = 0;
  for (const token of tokenize(text)) {
    if (depth === 0 && separators.has(token)) {
      split.separators.push(token);
      split.parts.push("");
      continue;
    }
    depth += depthChange(token);
    if (depth < 0 || depth > MAXIMUM_DEPTH) return null;
    split.parts[split.parts.length - 1] += token;
  }
  return depth === 0 ? split : null;
}

/** The outermost brackets of a text that lies wholly inside one pair of them. */
export interface Wrapped {
  open: string;
  inner: string;
  close: string;
}

/** The bracket pair that a text begins and ends with, or null where it is not one pair. */
export function unwrap(text: string): Wrapped | null {
  const tokens = tokenize(text);
  if (tokens.length < 2 || !OPENING.has(tokens[0])) return null;
  let depth = 0;
  for (const [i, token] of tokens.entries()) {
    depth += depthChange(token);
    if (depth === 0) {
      if (i !== tokens.length - 1) return null;
      return { open: tokens[0], inner: tokens.slice(1, -1).join(""), close: token };
    }
  }
  return null;
}

function depthChange(token: string): number {
  return OPENING.has(token) ? 1 : CLOSING.has(token) ? -1 : 0;
}
