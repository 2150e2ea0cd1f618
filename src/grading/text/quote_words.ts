import { isUnitWord } from "./units.ts";

const TEXT_COMMAND =
  /\\(?:text(?:bf|it|rm|sf|tt|normal|up)?|mathrm|mathsf|mathtt|mbox|hbox|rm|bf)\s*\{([^{}]*)\}/g;

/** Names of functions and constants as plain text writes them. */
const PLAIN_NAMES = new Map(
  [
    ..."sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln exp lg".split(" "),
    ..."gcd max min pi theta alpha beta gamma lambda".split(" "),
  ].map((name) => [name, `\\${name}`]),
).set("sqrt", "\\sqrt").set("inf", "\\infty").set("infinity", "\\infty").set("oo", "\\infty");

/** Words before a number that change nothing about it. */
const HEDGES = /^(?:"(?:approximately|about|roughly|around|exactly|approx)\.?"\s*)+/i;

const WORD_OR_SIGN =
  /"[^"]*"|\\(?:begin|end|operatorname)\s*\{[a-zA-Z*]+\}|\\[a-zA-Z]+|[A-Za-z]+(?:['-][A-Za-z]+)*|[^]/g;

/**
 * Replaces `\text{…}` and its like by quoted text. Text that holds digits or mathematics is unwrapped
 * instead and read like the rest.
 */
export function quoteText(latex: string): string {
  return latex.replaceAll(TEXT_COMMAND, (command, content: string) => {
    const text = content.replaceAll("\\", " ").trim().replace(/^\(([a-zA-Z]{2,})\)$/, "$1");
    if (text === "") return " ";
    // \mathrm{e} and \mathrm{d} are symbols set upright, not text.
    if (/^\\(?:mathrm|rm|bf)/.test(command) && /^[a-z]$/.test(text) && !isUnitWord(text)) {
      return ` ${text} `;
    }
    return /^[A-Za-z][A-Za-z\s.'/-]*$/.test(text) ? `"${text}"` : ` ${content} `;
  });
}

/**
 * Quotes the words of prose: "and" and "or", units after a number, and letters in a row that are too many
 * for a product of variables. Quotes that touch become one; functions written plainly get their backslash.
 */
export function quoteWords(latex: string): string {
  const bare = latex.trim();
  if (/^[A-Za-z][A-Za-z\s.'!?-]*$/.test(bare) && /[A-Za-z]{2}/.test(bare)) {
    if (
      !/\b(?:and|or)\b/.test(bare) && !PLAIN_NAMES.has(bare.toLowerCase()) && !isShortProduct(bare)
    ) {
      return `"${bare}"`;
    }
  }
  let before = "";
  for (const token of latex.match(WORD_OR_SIGN) ?? []) {
    before += /^[A-Za-z]/.test(token) ? quoteWord(token, before) : token;
  }
  return before.replaceAll(
    /"([^"]*)"/g,
    (found, words: string) => /^(?:and|or)$/i.test(words) ? found.toLowerCase() : found,
  )
    .replaceAll(/(?<=")((?!and"|or")[^"]+)"\s+"(?!and"|or")/g, "$1 ")
    .replace(HEDGES, "");
}

function quoteWord(word: string, before: string): string {
  const name = PLAIN_NAMES.get(word) ??
    (word.length > 2 ? PLAIN_NAMES.get(word.toLowerCase()) : null);
  if (name) return `${name} `;
  if (word === "and" || word === "or" || word.length >= 4) return `"${word}"`;
  const isUnit = isUnitWord(word) &&
    (word.length === 1 ? /\d\s+$/ : /(?:[\d}"/]|\\degree)\s*$/).test(before);
  return isUnit ? `"${word}"` : word;
}

/** Two or three letters in a row may be a product (`xy`) or a segment (`AB`). */
function isShortProduct(text: string): boolean {
  return /^[A-Za-z]{2,3}$/.test(text);
}
