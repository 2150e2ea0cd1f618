import { ComputeEngine } from "@cortex-js/compute-engine";
import { nameUnknownCalls } from "./unknown_calls.ts";

type Engine = InstanceType<typeof ComputeEngine>;
/** A formula as the symbolic engine holds it. */
export type Formula = NonNullable<ReturnType<Engine["parse"]>>;

/** A complex value in double precision; infinite values have an infinite real part. */
export interface ComplexValue {
  readonly re: number;
  readonly im: number;
}

let engine: Engine | undefined;

/** The symbolic engine; made on first use, which takes about a tenth of a second. */
export function symbolicEngine(): Engine {
  return engine ??= new ComputeEngine();
}

/**
 * Runs a comparison in a scope of its own: the engine infers what kind of thing a letter is from its uses,
 * and what one pair of answers suggests must not change how the next is read.
 */
export function inOwnScope<T>(action: () => T): T {
  symbolicEngine().pushScope();
  try {
    return action();
  } finally {
    symbolicEngine().popScope();
  }
}

/** Reads cleaned LaTeX; null where it is not a well-formed formula. */
export function parseFormula(latex: string): Formula | null {
  if (latex === "" || latex.includes('"')) return null;
  return orNull(() => {
    // In a scope of its own, for `a(b+1)` on one side would make `a` a function on the other.
    const json = inOwnScope(() => {
      const formula = symbolicEngine().parse(latex);
      return formula !== null && formula.isValid ? formula.json : null;
    });
    return json === null ? null : symbolicEngine().box(nameUnknownCalls(json) ?? json);
  });
}

/** Value of a formula at a point, or null where it has none that is a number. */
export function formulaValueAt(
  formula: Formula,
  point: Readonly<Record<string, number>>,
): ComplexValue | null {
  return orNull(() => {
    const value = (Object.keys(point).length === 0 ? formula : formula.subs(point)).N();
    const { re, im } = value;
    return Number.isNaN(re) || (Number.isNaN(im) && Number.isFinite(re)) ? null : { re, im };
  });
}

/** Whether the engine holds two formulas for the same, after evaluating what can be done exactly. */
export function sameForm(a: Formula, b: Formula): boolean {
  if (a.isSame(b)) return true;
  return orNull(() => a.evaluate().isSame(b.evaluate())) ?? false;
}

/**
 * The engine throws on some inputs that no person would write (deep nesting overflows its stack, huge
 * numbers its memory). They have no value, and an answer without a value is wrong: nothing is hidden.
 */
function orNull<T>(action: () => T): T | null {
  try {
    return action();
  } catch {
    return null;
  }
}
