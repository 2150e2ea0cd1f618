/** JSON schemas in words. */

export interface TypedField {
  /** With dots, and [] for the members of a list. */
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
}

/** The part of JSON Schema that configurations and the API use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

/** Deeper than this a type is its name. */
const DEPTH = 4;

/** A type in a few words: "integer from 1 to 64", "train | sft | compare". */
export function describeType(schema: Schema): string {
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

function describeBounds({ type, minimum, maximum, minLength, maxLength, pattern }: Schema) {
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
 * @param schemas that may be referred to
 */
export function fieldsOf(
  schema: Schema,
  schemas: Readonly<Record<string, Schema>>,
  prefix = "",
  depth = DEPTH,
): TypedField[] {
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

/** The object that a value is, may be or is a list of. */
function objectIn(
  schema: Schema,
  schemas: Readonly<Record<string, Schema>>,
): { schema: Schema; suffix: string; words: string } | null {
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

function inner(schema: Schema, schemas: Readonly<Record<string, Schema>>): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : schemas[name] ?? schema;
}

function unique(words: readonly string[]) {
  return [...new Set(words)];
}
