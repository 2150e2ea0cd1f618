/** Turns what zod found wrong into sentences for the user. */

import type { z } from "zod";
import { earlierKeys } from "./earlier_keys.ts";
import { nearestKey } from "./nearest_key.ts";

/** A path of keys into a configuration: ["rollout", "batch_size"]. */
export type KeyPath = readonly (string | number)[];

/** Keys as the user writes them: `rollout.batch_size`, `optimizer.betas[1]`. */
export function formatKeyPath(path: KeyPath): string {
  return path.reduce<string>(
    (text, key) =>
      typeof key === "number" ? `${text}[${key}]` : text === "" ? key : `${text}.${key}`,
    "",
  );
}

/**
 * Describes one zod issue: the keys it concerns and, for each, what was found and expected.
 *
 * @param issue reported with its input (`reportInput`)
 * @param schema the schema that found it, for the keys that would have been valid
 */
export function describeIssue(
  issue: z.core.$ZodIssue,
  schema: z.core.$ZodType,
): { path: KeyPath; message: string }[] {
  const path = issue.path as KeyPath;
  if (issue.code === "unrecognized_keys") {
    const valid = keysOf(schemaAt(schema, path));
    return issue.keys.map((key) => {
      const meant = meantKey(schema, [...path, key]);
      const advice = meant === null ? `valid here: ${valid.join(", ")}` : `did you mean ${meant}?`;
      return { path: [...path, key], message: `is not a key; ${advice}` };
    });
  }
  const found = issue.input;
  const message = found === undefined
    ? `is missing; expected ${issue.message}`
    : `is ${brief(found)}; expected ${issue.message}`;
  return [{ path, message }];
}

/**
 * The key that was probably meant: what an earlier version's is called now, one of the same section that is
 * like it, or the only one of that name in another section; null when there is none.
 */
function meantKey(schema: z.core.$ZodType, path: KeyPath): string | null {
  const found = formatKeyPath(path);
  const all = keyPaths(schema);
  const now = Object.hasOwn(earlierKeys, found) ? earlierKeys[found] : null;
  if (now !== null && all.includes(now)) return now;
  const section = path.slice(0, -1);
  const name = String(path[path.length - 1]);
  const nearest = nearestKey(name, keysOf(schemaAt(schema, section)));
  if (nearest !== null) return formatKeyPath([...section, nearest]);
  const namesakes = all.filter((key) => key.split(".").at(-1) === name);
  return namesakes.length === 1 ? namesakes[0] : null;
}

/** Every key of a schema with those inside it, as the user writes them; lists' items have none. */
export function keyPaths(schema: z.core.$ZodType, section: KeyPath = []): string[] {
  const { def } = (unwrapped(schema) as z.core.$ZodTypes)._zod;
  if (def.type !== "object") return [];
  return Object.entries(def.shape).flatMap(([key, inner]) => [
    formatKeyPath([...section, key]),
    ...keyPaths(inner, [...section, key]),
  ]);
}

function brief(value: unknown): string {
  const text = typeof value === "number" ? String(value) : JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}…`;
}

/** The innermost schema at a path, seen through defaults and `nullable`. */
function schemaAt(schema: z.core.$ZodType, path: KeyPath): z.core.$ZodType {
  return path.reduce<z.core.$ZodType>((current, key) => {
    const { def } = (unwrapped(current) as z.core.$ZodTypes)._zod;
    return def.type === "object" && key in def.shape ? def.shape[key] : current;
  }, schema);
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return "innerType" in def ? unwrapped(def.innerType) : schema;
}

function keysOf(schema: z.core.$ZodType): string[] {
  const { def } = (unwrapped(schema) as z.core.$ZodTypes)._zod;
  return def.type === "object" ? Object.keys(def.shape) : [];
}
