import { lastBoxed } from "./boxed.ts";
import { braceArguments, joinThousands, writeMixedNumbers } from "./clean_numbers.ts";
import { quoteText, quoteWords } from "./quote_words.ts";

/** Signs that models write instead of LaTeX commands. */
const SIGNS: Readonly<Record<string, string>> = {
  "−": "-",
  "–": "-",
  "—": "-",
  "×": "\\times ",
  "·": "\\cdot ",
  "⋅": "\\cdot ",
  "÷": "/",
  "√": "\\sqrt ",
  "π": "\\pi ",
  "∞": "\\infty ",
  "∪": "\\cup ",
  "∩": "\\cap ",
  "∈": "\\in ",
  "≤": "\\le ",
  "≥": "\\ge ",
  "≠": "\\ne ",
  "≈": "=",
  "±": "\\pm ",
  "∓": "\\mp ",
  "°": "\\degree ",
  "∅": "\\emptyset ",
  "ℝ": "\\mathbb{R}",
  "ℤ": "\\mathbb{Z}",
  "ℚ": "\\mathbb{Q}",
  "ℕ": "\\mathbb{N}",
  "θ": "\\theta ",
  "α": "\\alpha ",
  "β": "\\beta ",
  "λ": "\\lambda ",
  "’": "'",
  "‘": "'",
  "²": "^2",
  "³": "^3",
  "½": "\\frac{1}{2}",
  "¼": "\\frac{1}{4}",
  "¾": "\\frac{3}{4}",
  "€": " euro ",
  "\u00a0": " ",
  "\u202f": " ",
  "\u2009": " ",
  "”": "",
  "“": "",
  '"': "",
};

/** Rewrites of commands that mean the same, in order. `(?<!\\)` leaves the row break `\\` alone. */
const REWRITES: readonly (readonly [RegExp, string])[] = [
  [/^\s*\*\*([^*]*)\*\*\s*$/g, "$1"],
  [/(?<=\d)\s*,\s*\\!\s*(?=\d{3})/g, ""],
  [/(?<!\\)\\[()[\]]/g, " "],
  [/\\\$/g, '"dollar"'],
  [/(?<!\\)\\(?:[,;:!> ~]|q?quad\b|hspace\*?\{[^{}]*\}|thinspace\b)/g, " "],
  [/~/g, " "],
  [/\\(?:left|right|[bB]igg?[lr]?|displaystyle|textstyle|limits|nolimits)(?![a-zA-Z])\.?/g, ""],
  [/\\[dtc]frac(?![a-zA-Z])/g, "\\frac"],
  [/\\[dt]binom(?![a-zA-Z])/g, "\\binom"],
  [/\\(?:leqslant|leq|lt=)(?![a-zA-Z])|<=|=</g, "\\le "],
  [/\\(?:geqslant|geq)(?![a-zA-Z])|>=/g, "\\ge "],
  [/\\neq(?![a-zA-Z])|!=/g, "\\ne "],
  [/\\lt(?![a-zA-Z])/g, "<"],
  [/\\gt(?![a-zA-Z])/g, ">"],
  [/\\(?:approx|simeq|coloneqq)(?![a-zA-Z])|:=/g, "="],
  [/\^\{?\s*\\circ\s*\}?|\\degrees?(?![a-zA-Z])/g, "\\degree "],
  [/\\[lr]?vert(?![a-zA-Z])/g, "|"],
  [/\\varnothing(?![a-zA-Z])/g, "\\emptyset "],
  [/\\backslash(?![a-zA-Z])/g, "\\setminus "],
  [/\\(?:lbrace)(?![a-zA-Z])/g, "\\{"],
  [/\\(?:rbrace)(?![a-zA-Z])/g, "\\}"],
  [/\\times(?![a-zA-Z])|\\ast(?![a-zA-Z])/g, "\\times "],
  [/\\div(?![a-zA-Z])/g, "/"],
  [/\\(?:mathbf|boldsymbol|bm|mathit|vec)\s*\{([^{}]*)\}/g, "$1"],
  [/\\(Reals|R)(?![a-zA-Z])/g, "\\mathbb{R}"],
  [/\\mathbb\s*([A-Z])/g, "\\mathbb{$1}"],
  [/\*\*/g, "^"],
  [/(?<![\\\w])%|(?<=\d\s*)%/g, "\\%"],
];

/**
 * One spelling for the many that mean the same answer: drops math delimiters, `\boxed`, styling and
 * spacing, completes `\frac12`, joins the digits of `1,000`, and puts text into double quotes (words of
 * prose too), so that later readers need not know LaTeX's text commands. Never throws.
 *
 * @param keepCommas leaves `1,000` as two values; for the reading of `100,200` as a list
 */
export function cleanLatex(text: string, keepCommas = false): string {
  let clean = lastBoxed(text)?.content ?? text;
  clean = clean.replaceAll(/[^\x20-\x7e]/g, (sign) => SIGNS[sign] ?? (/\s/.test(sign) ? " " : sign))
    .replaceAll('"', "");
  for (const [pattern, replacement] of REWRITES) clean = clean.replaceAll(pattern, replacement);
  clean = dropDollars(clean);
  clean = quoteWords(quoteText(clean));
  clean = trimPunctuation(clean);
  clean = braceArguments(writeMixedNumbers(joinThousands(clean, keepCommas)));
  return trimPunctuation(dropSpaces(clean));
}

/** `$` marks mathematics; a single one before a digit is money. */
function dropDollars(text: string): string {
  const isMoney = text.split("$").length === 2 && /\$\s*[\d.]/.test(text);
  return text.replaceAll("$", isMoney ? '"dollar"' : " ");
}

/** White space that separates nothing: only that between a command or word and a letter is needed. */
function dropSpaces(text: string): string {
  return text.replaceAll(
    /"[^"]*"|(\\[a-zA-Z]+)\s+(?=[a-zA-Z])|\s+/g,
    (found, command) => found.startsWith('"') ? found : command === undefined ? "" : `${command} `,
  );
}

function trimPunctuation(text: string): string {
  return text.replace(/^[\s:;,]+/, "").replace(/(?:[\s,;:]|\.(?!\d)|(?<!\\)\\\\)+$/, "").trim();
}
