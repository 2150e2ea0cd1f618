import type { MathJsonExpression } from "@cortex-js/compute-engine";

/** Letters that name functions by custom; of another letter, `a(b+1)` is a product. */
const FUNCTION_LETTERS = /^[fghFGHPpqQuvwTS](?:_\w+)?$/;
const LETTER = /^[A-Za-z](?:_\w+)?$/;

/**
 * Rewrites what the engine takes for a call of an unknown function: `f(x+1)` becomes a variable of its
 * own, named after the whole call, and `a(b+1)` a product. Null where there is nothing to rewrite.
 */
export function nameUnknownCalls(json: MathJsonExpression): MathJsonExpression | null {
  if (!Array.isArray(json)) return null;
  const [head, ...operands] = json as [MathJsonExpression, ...MathJsonExpression[]];
  const rewritten = operands.map(nameUnknownCalls);
  const hasChanged = rewritten.some((operand) => operand !== null);
  const all = operands.map((operand, i) => rewritten[i] ?? operand);
  if (typeof head === "string" && LETTER.test(head) && operands.length > 0) {
    if (operands.length > 1 || FUNCTION_LETTERS.test(head)) return callName([head, ...all]);
    return ["Multiply", head, all[0]];
  }
  return hasChanged ? [head, ...all] as MathJsonExpression : null;
}

function callName(call: readonly MathJsonExpression[]): string {
  const codes = [...JSON.stringify(call)].map((sign) =>
    /[a-zA-Z0-9]/.test(sign) ? sign : `_${sign.codePointAt(0)}_`
  );
  return `call_${codes.join("")}`;
}
