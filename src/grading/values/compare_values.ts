import type { AnswerValue, Quantity } from "./answer_value.ts";
import { equalRelations, stated } from "./compare_relations.ts";
import { equalFormulas } from "./equal_formulas.ts";
import { equalRealSets, toRealSet } from "./real_sets.ts";
import { equalWords, wordsOf } from "./words.ts";

type Kind<K extends AnswerValue["kind"]> = AnswerValue & { readonly kind: K };

/** Whether two parsed answers are equal by the rules stated at `equalMathematics`. Symmetric. */
export function equalValues(a: AnswerValue, b: AnswerValue): boolean {
  return a.kind === b.kind ? equalOfOneKind(a, b) : equalOfTwoKinds(a, b) || equalOfTwoKinds(b, a);
}

function equalOfOneKind(a: AnswerValue, b: AnswerValue): boolean {
  switch (a.kind) {
    case "quantity":
      return equalQuantities(a, b as typeof a);
    case "words":
      return equalWords(a.text, (b as typeof a).text);
    case "list":
    case "set":
      return equalSets(a.items, (b as typeof a).items) || equalAsRealSets(a, b);
    case "group": {
      const other = b as typeof a;
      return a.open === other.open && a.close === other.close && equalInOrder(a.items, other.items);
    }
    case "union":
      return equalAsRealSets(a, b) || equalSets(a.parts, (b as typeof a).parts);
    case "difference": {
      const other = b as typeof a;
      return equalAsRealSets(a, b) ||
        (equalValues(a.whole, other.whole) && equalValues(a.removed, other.removed));
    }
    case "relation":
      return equalAsRealSets(a, b) || equalRelations(a, b as typeof a, equalValues);
    case "matrix":
      return equalMatrices(a, b as typeof a);
    case "time": {
      const other = b as typeof a;
      return a.text === other.text && compatible(a.unit, other.unit);
    }
  }
}

/** Whether two values of two kinds are equal, in this order; the caller tries both. */
function equalOfTwoKinds(a: AnswerValue, b: AnswerValue): boolean {
  if (a.kind === "relation") {
    const value = stated(a);
    if (value !== null && equalValues(value, b)) return true;
  }
  if (a.kind === "list") {
    if (b.kind === "set") return equalSets(a.items, b.items);
    if (b.kind === "group" && isOrderedList(b)) return equalInOrder(a.items, b.items);
  }
  if (a.kind === "set" && a.items.length === 1 && equalValues(a.items[0], b)) return true;
  if (a.kind === "words") return equalWords(a.text, wordsOf(b));
  return describesSet(a) && equalAsRealSets(a, b);
}

/** `(1, 2)` and `[1, 2, 3]` may be the list without brackets; `[1, 2]` is an interval. */
function isOrderedList(group: Kind<"group">): boolean {
  if (group.open === "(" && group.close === ")") return true;
  return group.open === "[" && group.close === "]" && group.items.length !== 2;
}

/** Kinds that can only be meant as sets; two lists or tuples are never compared as such. */
function describesSet(value: AnswerValue): boolean {
  return value.kind === "union" || value.kind === "difference" || value.kind === "relation" ||
    value.kind === "set" || (value.kind === "list" && value.isUnion) ||
    (value.kind === "quantity" && value.latex === "\\mathbb{R}");
}

function equalAsRealSets(a: AnswerValue, b: AnswerValue): boolean {
  const [left, right] = [toRealSet(a), toRealSet(b)];
  return left !== null && right !== null && equalRealSets(left, right);
}

function equalInOrder(a: readonly AnswerValue[], b: readonly AnswerValue[]): boolean {
  return a.length === b.length && a.every((item, i) => equalValues(item, b[i]));
}

/** Each member of one has an equal in the other, and the reverse. */
function equalSets(a: readonly AnswerValue[], b: readonly AnswerValue[]): boolean {
  return a.every((item) => b.some((other) => equalValues(item, other))) &&
    b.every((item) => a.some((other) => equalValues(item, other)));
}

function equalMatrices(a: Kind<"matrix">, b: Kind<"matrix">): boolean {
  return a.rows.length === b.rows.length && a.rows.every((row, i) => equalInOrder(row, b.rows[i]));
}

function equalQuantities(a: Quantity, b: Quantity): boolean {
  if (!compatible(a.unit, b.unit)) return false;
  if (equalFormulas(a.latex, b.latex)) return true;
  if (a.isPercent && !b.isPercent) return equalFormulas(hundredth(a.latex), b.latex);
  if (b.isPercent && !a.isPercent) return equalFormulas(a.latex, hundredth(b.latex));
  return equalWords(wordsOf(a), wordsOf(b));
}

/** A unit that only one side writes does not count. */
function compatible(a: string | null, b: string | null): boolean {
  return a === null || b === null || a === b;
}

/** The hundredth part, as a written number where it is one, so that it is compared exactly. */
function hundredth(latex: string): string {
  return /^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(latex) ? `${latex}e-2` : `\\frac{${latex}}{100}`;
}
