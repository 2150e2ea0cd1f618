import type { AnswerValue } from "./answer_value.ts";
import { splitTopLevel, unwrap } from "../text/brackets.ts";
import { parseMatrix } from "./parse_matrix.ts";
import { parseQuantity } from "./parse_quantity.ts";
import { isName, parseRelation } from "./parse_relation.ts";

const LIST_SEPARATORS = new Set([",", ";", '"and"', '"or"']);
const EMPTY_SET: AnswerValue = { kind: "set", items: [] };

/** Words that stand for a value. */
const VALUES_IN_WORDS = new Map<string, AnswerValue>([
  ["empty set", EMPTY_SET],
  ["the empty set", EMPTY_SET],
  ["all real numbers", quantity("\\mathbb{R}")],
  ["all reals", quantity("\\mathbb{R}")],
  ["infinity", quantity("\\infty")],
  ["negative infinity", quantity("-\\infty")],
]);

/**
 * Reads cleaned LaTeX from its outside in: lists, then relations, unions, brackets, and last the single
 * value. Null for an empty text and for one whose brackets do not balance.
 */
export function parseAnswer(text: string): AnswerValue | null {
  const list = splitTopLevel(text, LIST_SEPARATORS);
  if (list === null) return null;
  const parts = list.parts.filter((part) => part.trim() !== "").flatMap(expandSigns);
  if (parts.length === 0) return null;
  if (parts.length === 1) return parsePiece(parts[0]);
  const items = parseAll(parts);
  return items && { kind: "list", items, isUnion: list.separators.includes('"or"') };
}

/** `3 \pm x` is two values. */
function expandSigns(part: string): string[] {
  if (!/\\(?:pm|mp)(?![a-zA-Z])/.test(part)) return [part];
  return [["+", "-"], ["-", "+"]].map(([pm, mp]) =>
    part.replaceAll(/\\pm(?![a-zA-Z])\s*/g, pm).replaceAll(/\\mp(?![a-zA-Z])\s*/g, mp)
  );
}

function parsePiece(text: string): AnswerValue | null {
  return parseMembership(text) ?? parseTupleEquation(text) ?? parseRelation(text) ??
    parseSetOperation(text) ?? parseBrackets(text) ?? parseMatrix(text, parseAnswer) ??
    parseWords(text) ?? parseQuantity(text);
}

/** `x \in A` says no more than `A`. */
function parseMembership(text: string): AnswerValue | null {
  const split = splitTopLevel(text, new Set(["\\in"]));
  if (split?.parts.length !== 2 || !isName(split.parts[0])) return null;
  return parseAnswer(split.parts[1].trim());
}

/** `(x,y)=(1,2)` is read as `x=1, y=2`. */
function parseTupleEquation(text: string): AnswerValue | null {
  const split = splitTopLevel(text, new Set(["="]));
  if (split?.parts.length !== 2) return null;
  const [names, values] = split.parts.map((side) => splitMembers(side.trim(), "("));
  if (names === null || values === null || names.length < 2) return null;
  if (names.length !== values.length || !names.every(isName)) return null;
  const items = parseAll(names.map((name, i) => `${name}=${values[i]}`));
  return items && { kind: "list", items, isUnion: false };
}

function splitMembers(text: string, open: string): string[] | null {
  const wrapped = unwrap(text);
  if (wrapped?.open !== open) return null;
  return splitTopLevel(wrapped.inner, new Set([","]))?.parts ?? null;
}

function parseSetOperation(text: string): AnswerValue | null {
  const union = splitTopLevel(text, new Set(["\\cup"]));
  if (union !== null && union.parts.length > 1) {
    const parts = parseAll(union.parts);
    return parts && { kind: "union", parts };
  }
  const difference = splitTopLevel(text, new Set(["\\setminus"]));
  if (difference?.parts.length !== 2) return null;
  const [whole, removed] = difference.parts.map((part) => parseAnswer(part.trim()));
  return whole && removed && { kind: "difference", whole, removed };
}

function parseBrackets(text: string): AnswerValue | null {
  if (text === "\\emptyset") return EMPTY_SET;
  const wrapped = unwrap(text);
  if (wrapped === null) return null;
  const { open, inner, close } = wrapped;
  if (open === "\\{" && close === "\\}") return parseSet(inner);
  if (open === "\\langle" && close === "\\rangle") return parseGroup("(", inner, ")");
  if ((open !== "(" && open !== "[") || (close !== ")" && close !== "]")) return null;
  return parseGroup(open, inner, close);
}

function parseSet(inner: string): AnswerValue | null {
  if (inner.trim() === "") return EMPTY_SET;
  const builder = splitTopLevel(inner, new Set(["\\mid", "|", ":"]));
  if (builder?.parts.length === 2) {
    const variable = splitTopLevel(builder.parts[0], new Set(["\\in"]))?.parts[0] ?? "";
    if (isName(variable.trim())) return parseAnswer(builder.parts[1].trim());
  }
  const content = parseAnswer(inner);
  if (content === null) return null;
  return { kind: "set", items: content.kind === "list" ? content.items : [content] };
}

function parseGroup(open: "(" | "[", inner: string, close: ")" | "]"): AnswerValue | null {
  const split = splitTopLevel(inner, new Set([",", ";"]));
  if (split === null) return null;
  if (split.parts.length === 1) return parseAnswer(inner);
  const items = parseAll(split.parts);
  return items && { kind: "group", open, close, items };
}

function parseWords(text: string): AnswerValue | null {
  const words = /^"([^"]*)"[.!?]?$/.exec(text)?.[1].trim();
  if (words === undefined) return null;
  return VALUES_IN_WORDS.get(words.toLowerCase()) ?? { kind: "words", text: words };
}

function parseAll(texts: readonly string[]): AnswerValue[] | null {
  const items: AnswerValue[] = [];
  for (const text of texts) {
    const item = parseAnswer(text.trim());
    if (item === null) return null;
    items.push(item);
  }
  return items;
}

function quantity(latex: string): AnswerValue {
  return { kind: "quantity", latex, unit: null, isPercent: false };
}
