/** A configuration's JSON schema as a tree of form fields. */

/**
 * @import { Schema } from "../contract.ts"
 */

/**
 * @typedef {object} Field
 * @property {string} key with dots, as in the configuration
 * @property {"section" | "choice" | "flag" | "number" | "text" | "json"} kind
 * @property {string} description
 * @property {boolean} nullable null is a value too
 * @property {readonly string[]} choices of a choice
 * @property {boolean} whole of a number
 * @property {number | undefined} minimum of a number
 * @property {number | undefined} maximum of a number
 * @property {readonly Field[]} fields of a section
 */

/**
 * The fields of a section's schema; what has no simple form (lists, alternatives) is written as JSON.
 *
 * @param {Schema} schema
 * @param {string} [prefix]
 * @returns {Field[]}
 */
export function schemaFields(schema, prefix = "") {
  return Object.entries(schema.properties ?? {}).map(([name, property]) =>
    fieldOf(`${prefix}${name}`, property)
  );
}

/**
 * @param {string} key
 * @param {Schema} schema
 * @returns {Field}
 */
function fieldOf(key, schema) {
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
 * @param {Schema} schema
 * @returns {Field["kind"]}
 */
function kindOf(schema) {
  if (schema.enum !== undefined) return "choice";
  if (schema.properties !== undefined) return "section";
  if (schema.type === "boolean") return "flag";
  if (schema.type === "number" || schema.type === "integer") return "number";
  return schema.type === "string" ? "text" : "json";
}

/**
 * Whether a field's value is written as JSON: a section that is null is one, for half of it cannot be set.
 *
 * @param {Field} field
 */
function isJson({ kind }) {
  return kind === "json" || kind === "section";
}

/**
 * What a field holds, as a form shows it: null is the empty text.
 *
 * @param {Field} field
 * @param {unknown} value
 */
export function shownValue(field, value) {
  if (value === null || value === undefined) return "";
  // Text stays as it was typed, whether it is a value or half of one.
  return isJson(field) && typeof value !== "string" ? JSON.stringify(value) : String(value);
}

/**
 * What was typed, as a value. What does not fit stays text: the server says what is wrong with it.
 *
 * @param {Field} field
 * @param {string} text
 * @returns {unknown}
 */
export function typedValue(field, text) {
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
 * @param {Readonly<Record<string, unknown>>} configuration
 * @param {string} key with dots
 * @returns {unknown} undefined when it does not say
 */
export function valueAt(configuration, key) {
  /** @type {unknown} */
  let value = configuration;
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
 * @param {Schema} schema
 * @param {string} key with dots
 * @returns {unknown}
 */
export function defaultAt(schema, key) {
  /** @type {Schema | undefined} */
  let inner = schema;
  for (const name of key.split(".")) {
    inner = (inner?.properties ?? inner?.anyOf?.find((one) => one.properties)?.properties)?.[name];
  }
  return inner?.default;
}
