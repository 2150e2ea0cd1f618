/** JSON schemas in words. */

/** @import { Schema } from "../contract.ts" */

/**
 * @typedef {object} TypedField
 * @property {string} name with dots, and [] for the members of a list
 * @property {string} type
 * @property {boolean} isRequired
 * @property {string} description
 */

/** Deeper than this a type is its name. */
const DEPTH = 4;

/**
 * A type in a few words: "integer from 1 to 64", "train | sft | compare".
 *
 * @param {Schema} schema
 * @returns {string}
 */
export function describeType(schema) {
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return unique(alternatives.map(describeType)).join(" | ");
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? "";
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.join(" | ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => describeType({ ...schema, type })).join(" | ");
  }
  if (schema.type === "array") {
    const { maxLength: _, ...member } = schema.items ?? {};
    return `list of ${describeType(member)}`;
  }
  if (schema.type === "object" && schema.properties === undefined) {
    const { additionalProperties: value } = schema;
    if (typeof value !== "object" || Object.keys(value).length === 0) return "object";
    return `object of ${describeType(value)}`;
  }
  return `${schema.type ?? "anything"}${describeBounds(schema)}`;
}

/** @param {Schema} schema */
function describeBounds({ type, minimum, maximum, minLength, maxLength, pattern }) {
  if (type === "string") {
    if (pattern !== undefined) return ` like ${pattern}`;
    return maxLength === undefined ? "" : ` of ${minLength ?? 0} to ${maxLength} characters`;
  }
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`;
  if (minimum !== undefined) return ` from ${minimum}`;
  return maximum === undefined ? "" : ` up to ${maximum}`;
}

/**
 * The fields of an object, and of the objects in it.
 *
 * @param {Schema} schema
 * @param {Readonly<Record<string, Schema>>} schemas that may be referred to
 * @returns {TypedField[]}
 */
export function fieldsOf(schema, schemas, prefix = "", depth = DEPTH) {
  const { properties, required } = inner(schema, schemas);
  if (properties === undefined || depth === 0) return [];
  return Object.entries(properties).flatMap(([name, property]) => {
    const found = objectIn(property, schemas);
    const field = {
      name: `${prefix}${name}`,
      type: found === null ? describeType(property) : found.words,
      isRequired: required?.includes(name) ?? false,
      description: property.description ?? "",
    };
    if (found === null) return [field];
    return [
      field,
      ...fieldsOf(found.schema, schemas, `${prefix}${name}${found.suffix}.`, depth - 1),
    ];
  });
}

/**
 * The object that a value is, may be or is a list of.
 *
 * @param {Schema} schema
 * @param {Readonly<Record<string, Schema>>} schemas
 * @returns {{ schema: Schema, suffix: string, words: string } | null}
 */
function objectIn(schema, schemas) {
  const alternatives = schema.anyOf ?? schema.oneOf ?? [schema];
  for (const alternative of alternatives) {
    const found = inner(alternative, schemas);
    const isNullable = alternatives.length > 1 || Array.isArray(found.type);
    const orNull = isNullable ? " | null" : "";
    if (found.properties !== undefined) {
      return { schema: found, suffix: "", words: `object${orNull}` };
    }
    const member = found.items && inner(found.items, schemas);
    if (member?.properties !== undefined) {
      return { schema: member, suffix: "[]", words: `list of objects${orNull}` };
    }
  }
  return null;
}

/**
 * @param {Schema} schema
 * @param {Readonly<Record<string, Schema>>} schemas
 * @returns {Schema}
 */
function inner(schema, schemas) {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : schemas[name] ?? schema;
}

/** @param {readonly string[]} words */
function unique(words) {
  return [...new Set(words)];
}
