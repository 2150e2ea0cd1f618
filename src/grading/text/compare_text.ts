import { lastBoxed } from "./boxed.ts";
import { equalNumbers, parseNumberLiteral } from "./number_literal.ts";

const ARTICLE = /\b(?:a|an|the)\b/g;
const TRUTH = new Map([["yes", "true"], ["no", "false"]]);

/**
 * Whether two answers in words say the same. Case, white space, punctuation around words, quotes, LaTeX's
 * `\text{…}` and articles do not count; "yes" is "true" and "no" is "false". Commas separate the members
 * of a list, which count in order; members that are numbers compare as numbers, whatever their thousands
 * separators, `$` or `%`. An empty answer equals nothing.
 */
export function equalTexts(answer: string, reference: string): boolean {
  const [left, right] = [members(answer), members(reference)];
  return left.length > 0 && left.length === right.length &&
    left.every((member, i) => equalMembers(member, right[i]));
}

function members(text: string): string[] {
  const bare = (lastBoxed(text)?.content ?? text).normalize("NFKC")
    .replaceAll(/\\(?:text|mathrm|textbf|textit|mbox)\s*\{([^{}]*)\}/g, "$1")
    .replaceAll(/\\([%$&#_])/g, "$1");
  return bare.split(/,(?!\d{3}(?:\D|$))|[;\n]/).map(plain).filter((member) => member !== "");
}

/** Lower case, single spaces, no punctuation at the ends of words, no articles. */
function plain(member: string): string {
  const words = member.toLowerCase().replaceAll(/[‘’`]/g, "'")
    .split(/\s+/).map((word) =>
      word.replace(/^[^\p{Letter}\p{Number}$%.+-]+/u, "")
        .replace(/[^\p{Letter}\p{Number}$%]+$/u, "")
    );
  const text = words.filter((word) => word !== "" && word !== "-").join(" ");
  const withoutArticles = text.replaceAll(ARTICLE, "").replaceAll(/\s+/g, " ").trim();
  // The answer may be the letter A itself.
  const bare = withoutArticles === "" ? text : withoutArticles;
  return TRUTH.get(bare) ?? bare;
}

function equalMembers(a: string, b: string): boolean {
  if (a === b) return true;
  const [left, right] = [numberOf(a), numberOf(b)];
  return left !== null && right !== null && equalNumbers(left, right);
}

function numberOf(member: string) {
  return parseNumberLiteral(member.replaceAll(/(\d),(?=\d{3})/g, "$1").replaceAll(/[$%\s]/g, ""));
}
