import { tokenize } from "./brackets.ts";

const COMMANDS_WITH_TWO_ARGUMENTS = new Set(["\\frac", "\\binom"]);

/**
 * Joins the digits of `1{,}000`, `1 000` and, outside brackets, `1,000`: inside them a comma
 * separates members, as in `\{100,200\}`.
 */
export function joinThousands(latex: string, keepCommas: boolean): string {
  const spaced = latex.replaceAll(/(\d)\s*\{\s*,\s*\}\s*(?=\d{3})/g, "$1")
    .replaceAll(
      /(?<![\d.,])\d{1,3}(?:\s+\d{3})+(?![\d/]|\s+\d)/g,
      (digits) => digits.replaceAll(/\s/g, ""),
    );
  if (keepCommas) return spaced;
  let depth = 0;
  let joined = "";
  let outside = "";
  const flush = () => {
    joined += outside.replaceAll(
      /(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])/g,
      (digits) => digits.replaceAll(",", ""),
    );
    outside = "";
  };
  for (const token of tokenize(spaced)) {
    const change = /^(?:[([{]|\\\{)$/.test(token) ? 1 : /^(?:[)\]}]|\\\})$/.test(token) ? -1 : 0;
    depth += change;
    if (depth === 0 && change === 0) outside += token;
    else {
      flush();
      joined += token;
    }
  }
  flush();
  return joined;
}

/**
 * Writes `1\frac{1}{2}` and `1 1/2` as sums, a fraction of plain digits `1/2` as `\frac{1}{2}` (so that
 * `1/2x` is half of x), and `x^10` as `x^{10}`.
 */
export function writeMixedNumbers(latex: string): string {
  const mixed = (found: string, whole: string, top: string, bottom: string) =>
    Number(top) < Number(bottom) ? `(${whole}+\\frac{${top}}{${bottom}})` : found;
  return latex
    .replaceAll(/\\(frac|binom)\s*(\d)\s*(\d)/g, "\\$1{$2}{$3}")
    .replaceAll(/\\frac\s*(\d)\s*\{/g, "\\frac{$1}{")
    .replaceAll(/(\\frac\s*\{[^{}]*\})\s*(\d)/g, "$1{$2}")
    .replaceAll(/([\^_])\s*(-?\d{2,}|-\d)/g, "$1{$2}")
    .replaceAll(/(?<![\w.^}_)]\s*)(\d+)\s*\\frac\s*\{(\d+)\}\s*\{(\d+)\}/g, mixed)
    .replaceAll(/(?<![\w.^}_)]\s*)(\d+)\s+(\d+)\/(\d+)(?![\w.^!])/g, mixed)
    .replaceAll(/(?<![\w.^}_)!\]|])(\d+)\s*\/\s*(\d+)(?![\d.^!_])/g, "\\frac{$1}{$2}");
}

/** Puts braces around the arguments of `\frac ab`, `\sqrt2` and `\binom nk`, and of `x^(1/2)`. */
export function braceArguments(latex: string): string {
  const tokens = tokenize(latex.replaceAll(/(\\(?:frac|binom|sqrt)|\^)\s+/g, "$1"));
  for (let i = 0; i < tokens.length; i++) {
    const next = tokens[i + 1];
    if ((tokens[i] === "^" || tokens[i] === "\\sqrt") && next === "(") {
      const end = closingParenthesis(tokens, i + 1);
      if (end > 0) [tokens[i + 1], tokens[end]] = ["{", "}"];
      continue;
    }
    const count = COMMANDS_WITH_TWO_ARGUMENTS.has(tokens[i]) ? 2 : tokens[i] === "\\sqrt" ? 1 : 0;
    for (let k = 1; k <= count && /^(?:\w|\\[a-zA-Z]+)$/.test(tokens[i + k] ?? ""); k++) {
      tokens[i + k] = `{${tokens[i + k]}}`;
    }
  }
  return tokens.join("");
}

function closingParenthesis(tokens: readonly string[], open: number): number {
  let depth = 0;
  for (let i = open; i < tokens.length; i++) {
    if (tokens[i] === "(") depth++;
    else if (tokens[i] === ")" && --depth === 0) return i;
  }
  return -1;
}
