/** Building blocks of configuration schemas; each carries the words for what it expects. */

import { z } from "zod";

/** Bounds of a number: `minimum` and `maximum` are allowed values, `above` and `below` are not. */
export interface Bounds {
  readonly minimum?: number;
  readonly above?: number;
  readonly maximum?: number;
  readonly below?: number;
}

/** A whole number within bounds. */
export function wholeNumber(bounds: Bounds = {}): z.ZodNumber {
  return numberWithin("a whole number", z.int, bounds);
}

/** A finite number within bounds. */
export function realNumber(bounds: Bounds = {}): z.ZodNumber {
  return numberWithin("a number", z.number, bounds);
}

/** A schema of one of a few words. */
export function oneOf<const Words extends readonly [string, ...string[]]>(words: Words) {
  return z.enum(words, { error: `one of ${words.join(", ")}` });
}

/** true or false. */
export function flag(): z.ZodBoolean {
  return z.boolean({ error: "true or false" });
}

/** Text that is not empty; `what` describes it, as in "the path of a folder". */
export function text(what: string): z.ZodString {
  return z.string({ error: what }).min(1, { error: what });
}

/** A group of keys; keys that it does not name are errors. */
export function section<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys" ? undefined : `keys (${Object.keys(shape).join(", ")})`,
  });
}

function numberWithin(
  kind: string,
  make: (parameters: { error: string }) => z.ZodNumber,
  { minimum, above, maximum, below }: Bounds,
): z.ZodNumber {
  const limits: string[] = [];
  if (minimum !== undefined) limits.push(`at least ${minimum}`);
  if (above !== undefined) limits.push(`greater than ${above}`);
  if (maximum !== undefined) limits.push(`at most ${maximum}`);
  if (below !== undefined) limits.push(`less than ${below}`);
  const error = [kind, limits.join(" and ")].filter((part) => part !== "").join(", ");
  let schema = make({ error });
  if (minimum !== undefined) schema = schema.gte(minimum, { error });
  if (above !== undefined) schema = schema.gt(above, { error });
  if (maximum !== undefined) schema = schema.lte(maximum, { error });
  if (below !== undefined) schema = schema.lt(below, { error });
  return schema;
}
