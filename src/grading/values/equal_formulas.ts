import {
  type ComplexValue,
  type Formula,
  formulaValueAt,
  parseFormula,
  sameForm,
  symbolicEngine,
} from "./expressions.ts";
import { equalNumbers, parseNumberLiteral } from "../text/number_literal.ts";
import { samplePoints, wholePoints } from "./sample_points.ts";

/** Bound on the relative difference of two exact values, each computed to 21 digits. */
const EXACT_BOUND = 1e-12;
/** Bound where one side holds a decimal that may be rounded. */
const DECIMAL_BOUND = 1e-6;
/** Residue that cancellation in 21 digits may leave of a zero. */
const RESIDUE = 1e-18;
/** Integers above it are compared digit by digit: their doubles would not tell neighbours apart. */
const LARGEST_SAMPLED_INTEGER = 1e11;

/** A decimal point that does not belong to a repeating decimal, which is exact. */
export function hasDecimal(latex: string): boolean {
  return /\d\.\d|(?<!\d)\.\d/.test(latex.replaceAll(/\d*\.\d*\\(?:overline|bar)\{\d+\}/g, "1"));
}

/**
 * Whether two formulas in cleaned LaTeX have the same value: written numbers exactly (see `equalNumbers`),
 * other values without variables to twelve digits, or to six decimal places where one holds a decimal;
 * formulas with variables where they agree at the sample points.
 */
export function equalFormulas(left: string, right: string): boolean {
  if (left === right) return true;
  const [a, b] = [parseNumberLiteral(left), parseNumberLiteral(right)];
  if (a && b) return equalNumbers(a, b);
  const [formulaA, formulaB] = [parseFormula(left), parseFormula(right)];
  if (formulaA === null || formulaB === null) return false;
  if (formulaA.isSame(formulaB)) return true;
  const isDecimal = hasDecimal(left) || hasDecimal(right);
  const names = variables(formulaA, formulaB);
  return names.length === 0
    ? equalConstants(formulaA, formulaB, isDecimal)
    : agreeAtPoints(formulaA, formulaB, names, isDecimal);
}

/** The variables of formulas, in alphabetical order. */
export function variables(...formulas: readonly Formula[]): string[] {
  return [...new Set(formulas.flatMap((formula) => [...formula.unknowns]))].sort();
}

/** Whether two values are the same number within a relative bound. */
export function closeValues(a: ComplexValue, b: ComplexValue, bound: number): boolean {
  if (!Number.isFinite(a.re) || !Number.isFinite(b.re)) return a.re === b.re;
  const scale = Math.max(Math.hypot(a.re, a.im), Math.hypot(b.re, b.im));
  return Math.hypot(a.re - b.re, a.im - b.im) <= bound * scale + RESIDUE;
}

function equalConstants(a: Formula, b: Formula, isDecimal: boolean): boolean {
  const [left, right] = [formulaValueAt(a, {}), formulaValueAt(b, {})];
  if (left === null || right === null) return sameForm(a, b);
  if (isDecimal) {
    const difference = Math.hypot(left.re - right.re, left.im - right.im);
    const size = Math.max(Math.hypot(left.re, left.im), Math.hypot(right.re, right.im));
    return closeValues(left, right, EXACT_BOUND) ||
      (difference <= 0.5e-6 && difference <= 1e-3 * size);
  }
  if (!closeValues(left, right, EXACT_BOUND)) return false;
  const isLarge = Math.abs(left.re) > LARGEST_SAMPLED_INTEGER && Number.isFinite(left.re);
  return isLarge ? sameForm(a, b) : true;
}

/**
 * Two formulas that agree at several points chosen without regard to them are the same. Points where
 * neither has a value say nothing, nor those where a root of a negative number makes one side complex.
 */
function agreeAtPoints(
  a: Formula,
  b: Formula,
  names: readonly string[],
  isDecimal: boolean,
): boolean {
  const bound = isDecimal ? DECIMAL_BOUND : EXACT_BOUND;
  for (const points of [samplePoints(names), wholePoints(names)]) {
    let agreements = 0;
    for (const { at, isPositive } of points) {
      const [left, right] = [formulaValueAt(a, at), formulaValueAt(b, at)];
      if (left === null && right === null) continue;
      if (left === null || right === null) break;
      if (!isPositive && (isComplex(left) || isComplex(right))) continue;
      if (!Number.isFinite(left.re) && !Number.isFinite(right.re)) continue;
      if (!closeValues(left, right, bound)) return false;
      agreements++;
    }
    if (agreements >= 3) return true;
  }
  return sameForm(
    symbolicEngine().box(["Simplify", a.json]),
    symbolicEngine().box(["Simplify", b.json]),
  );
}

function isComplex(value: ComplexValue): boolean {
  return Math.abs(value.im) > 1e-12 * Math.abs(value.re);
}
