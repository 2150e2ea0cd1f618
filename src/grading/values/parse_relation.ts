import type { Relation, RelationOperator } from "./answer_value.ts";
import { splitTopLevel } from "../text/brackets.ts";

const OPERATORS = new Set<string>(
  ["=", "<", ">", "\\le", "\\ge", "\\ne"] satisfies RelationOperator[],
);

/** Names that stand for a value: `x`, `x_1`, `\theta`, `f(2)`, `AB`, `\angle ABC`, quoted words. */
const NAME =
  /^(?:"[^"]*"|(?:\\angle\s*|\\triangle\s*|\\overline)?\{?\\?[a-zA-Z]+'*\}?(?:_(?:\w|\{\w+\}))?'*(?:\^\{-1\})?(?:\([^()]*\))?)$/;

/** Commands that NAME would take for a Greek letter, but that are values. */
const CONSTANTS = new Set(["\\pi", "\\infty", "\\emptyset", "e", "i"]);

/** Whether a text is a variable, a function's value or a label, rather than a value of its own. */
export function isName(text: string): boolean {
  return NAME.test(text) && !CONSTANTS.has(text);
}

/** Reads an equation, an inequality or a chain of them; null where there is no relation sign. */
export function parseRelation(text: string): Relation | null {
  const split = splitTopLevel(text, OPERATORS);
  if (split === null || split.parts.length < 2) return null;
  const sides = split.parts.map((side) => side.trim());
  if (sides.includes("")) return null;
  return { kind: "relation", sides, operators: split.separators as RelationOperator[] };
}
