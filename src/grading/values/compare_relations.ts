import type { AnswerValue, Relation, RelationOperator } from "./answer_value.ts";
import { closeValues, equalFormulas, hasDecimal, variables } from "./equal_formulas.ts";
import { formulaValueAt, parseFormula } from "./expressions.ts";
import { parseAnswer } from "./parse_answer.ts";
import { isName } from "./parse_relation.ts";
import { samplePoints } from "./sample_points.ts";

/** Bound on the relative spread of the factor between two equations. */
const FACTOR_BOUND = 1e-9;
const DECIMAL_FACTOR_BOUND = 1e-5;

/**
 * The value an equation gives to its left side: the right end of `x = 5`, of `f(2) = 5`, of `a + b = 7`
 * and of the chain `A = \pi r^2 = 9\pi`; the left end of `5 = x`. Null where the left side is a formula with numbers in it,
 * as in `2x + 1 = 5`, which states no value, unless both sides are equal numbers.
 */
export function stated(relation: Relation): AnswerValue | null {
  const { sides, operators } = relation;
  if (!operators.every((operator) => operator === "=")) return null;
  const [first, last] = [sides[0], sides[sides.length - 1]];
  if (isName(last) && !isName(first)) return parseAnswer(first);
  const isLabel = isName(first) || !/\d/.test(first.replaceAll(/_\w|_\{[^}]*\}/g, ""));
  return isLabel || equalFormulas(first, last) ? parseAnswer(last) : null;
}

/**
 * Whether two relations say the same. Equations for the same name: where the values are the same.
 * Others: where left minus right differs by a constant factor, positive for inequalities. Inequalities
 * may be turned round; chains of them must agree side by side.
 */
export function equalRelations(
  a: Relation,
  b: Relation,
  equalValues: (a: AnswerValue, b: AnswerValue) => boolean,
): boolean {
  const [left, right] = [ascending(a), ascending(b)];
  if (
    left.operators.every((operator) => operator === "=") && left.operators[0] === right.operators[0]
  ) {
    const [nameA, nameB] = [nameOf(left), nameOf(right)];
    const [valueA, valueB] = [stated(left), stated(right)];
    if (nameA !== null && nameA === nameB && valueA && valueB && equalValues(valueA, valueB)) {
      return true;
    }
    return proportional(ends(left), ends(right));
  }
  if (left.operators.join() !== right.operators.join()) return false;
  if (left.sides.every((side, i) => equalFormulas(side, right.sides[i]))) return true;
  return left.operators.length === 1 && proportional(ends(left), ends(right), left.operators[0]);
}

function nameOf({ sides }: Relation): string | null {
  return sides.find(isName) ?? null;
}

function ends({ sides }: Relation): [string, string] {
  return [sides[0], sides[sides.length - 1]];
}

/** A relation with its smaller side first. */
function ascending(relation: Relation): Relation {
  if (!relation.operators.every((operator) => operator === ">" || operator === "\\ge")) {
    return relation;
  }
  return {
    kind: "relation",
    sides: relation.sides.toReversed(),
    operators: relation.operators.map((operator): RelationOperator =>
      operator === ">" ? "<" : "\\le"
    ).toReversed(),
  };
}

function proportional(
  a: readonly [string, string],
  b: readonly [string, string],
  operator: RelationOperator = "=",
): boolean {
  const formulas = [...a, ...b].map(parseFormula);
  if (!formulas.every((formula) => formula !== null)) return false;
  const names = variables(...formulas);
  if (names.length === 0) return false;
  let factor: number | null = null;
  let agreements = 0;
  const isDecimal = [...a, ...b].some(hasDecimal);
  for (const { at } of samplePoints(names)) {
    const values = formulas.map((formula) => formulaValueAt(formula, at));
    if (!values.every((value) => value !== null)) continue;
    if (values.some(({ im }) => Math.abs(im) > 1e-12)) continue;
    const [p, q, r, s] = values.map(({ re }) => re);
    const quotient = (p - q) / (r - s);
    if (!Number.isFinite(quotient) || quotient === 0) return false;
    factor ??= quotient;
    const bound = isDecimal ? DECIMAL_FACTOR_BOUND : FACTOR_BOUND;
    if (!closeValues({ re: quotient, im: 0 }, { re: factor, im: 0 }, bound)) return false;
    agreements++;
  }
  if (factor === null || agreements < 3) return false;
  return operator === "=" || operator === "\\ne" || factor > 0;
}
