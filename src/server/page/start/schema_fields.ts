/** A configuration's JSON schema as a tree of form fields. */

import type { Schema } from "../api/schema_types.ts";

export interface Field {
  /** With dots, as in the configuration. */
  readonly key: string;
  readonly kind: "section" | "choice" | "flag" | "number" | "text" | "json";
  readonly description: string;
  /** Null is a value too. */
  readonly nullable: boolean;
  /** Of a choice. */
  readonly choices: readonly string[];
  /** Of a number. */
  readonly whole: boolean;
  /** Of a number. */
  readonly minimum: number | undefined;
  /** Of a number. */
  readonly maximum: number | undefined;
  /** Of a section. */
  readonly fields: readonly Field[];
}

/** The fields of a section's schema; what has no simple form (lists, alternatives) is written as JSON. */
export function schemaFields(schema: Schema, prefix: string = ""): Field[] {
  return Object.entries(schema.properties ?? {}).map(([name, property]) =>
    fieldOf(`${prefix}${name}`, property)
  );
}

function fieldOf(key: string, schema: Schema): Field {
  const others = schema.anyOf?.filter(({ type }) => type !== "null");
  const nullable = others !== undefined && others.length < (schema.anyOf?.length ?? 0);
  const inner = others?.length === 1 ? others[0] : schema;
  const field = {
    key,
    kind: kindOf(inner),
    description: schema.description ?? inner.description ?? "",
    nullable,
    choices: inner.enum?.map(String) ?? [],
    whole: inner.type === "integer",
    minimum: inner.minimum ?? inner.exclusiveMinimum,
    maximum: inner.maximum ?? inner.exclusiveMaximum,
  };
  return { ...field, fields: field.kind === "section" ? schemaFields(inner, `${key}.`) : [] };
}

/**
 * The field of a key, at any depth.
 *
 * @param key with dots
 */
export function fieldAt(fields: readonly Field[], key: string): Field | undefined {
  for (const field of fields) {
    const found = field.key === key ? field : fieldAt(field.fields, key);
    if (found !== undefined) return found;
  }
}

function kindOf(schema: Schema): Field["kind"] {
  if (schema.enum !== undefined) return "choice";
  if (schema.properties !== undefined) return "section";
  if (schema.type === "boolean") return "flag";
  if (schema.type === "number" || schema.type === "integer") return "number";
  return schema.type === "string" ? "text" : "json";
}

/** Whether a field's value is written as JSON: a section that is null is one, for half of it cannot be set. */
function isJson({ kind }: Field) {
  return kind === "json" || kind === "section";
}

/** What a field holds, as a form shows it: null is the empty text. */
export function shownValue(field: Field, value: unknown) {
  if (value === null || value === undefined) return "";
  // Text stays as it was typed, whether it is a value or half of one.
  return isJson(field) && typeof value !== "string" ? JSON.stringify(value) : String(value);
}

/** What was typed, as a value. What does not fit stays text: the server says what is wrong with it. */
export function typedValue(field: Field, text: string): unknown {
  const { kind, nullable } = field;
  if (text === "" && (nullable || isJson(field))) return null;
  if (kind === "flag") return text === "true";
  if (kind === "number") {
    const number = Number(text);
    return text.trim() === "" || !Number.isFinite(number) ? text : number;
  }
  if (!isJson(field)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * @param key with dots
 * @returns undefined when it does not say
 */
export function settingAt(configuration: unknown, key: string): unknown {
  let value: unknown = configuration;
  for (const name of key.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) {
      return undefined;
    }
    value = Reflect.get(value, name);
  }
  return value;
}

/**
 * The default of a field as its schema has it.
 *
 * @param key with dots
 */
export function defaultAt(schema: Schema, key: string): unknown {
  let inner: Schema | undefined = schema;
  for (const name of key.split(".")) {
    inner = (inner?.properties ?? inner?.anyOf?.find((one) => one.properties)?.properties)?.[name];
  }
  return inner?.default;
}
