/** What the server's OpenAPI document says of each request, as the page shows it. */

import { describeType, fieldsOf, type Schema } from "./schema_types.ts";

/** By media type. */
type Content = Readonly<Record<string, { readonly schema: Schema }>>;

/** One request of an OpenAPI document. */
export interface OpenApiOperation {
  readonly summary?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { description: string; content?: Content }>>;
}

/** The part of an OpenAPI document that the page shows. */
export interface OpenApi {
  readonly security?: readonly unknown[];
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
  /** By path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
}

export type ApiOperation = ReturnType<typeof describeOperation>;

const GROUPS: readonly [RegExp, string][] = [
  [/^\/api\/(runs|plan|presets|schema)\b/, "Runs"],
  [/^\/api\/models\b/, "Models"],
  [/^\/api\/verify\b/, "Verify"],
  [/^\/api\/bench\b/, "Benchmarks"],
  [/^/, "Server"],
];

/**
 * All requests, by what they are about.
 *
 * @param origin of the server, for commands
 */
export function operationGroups(document: OpenApi, origin: string) {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      describeOperation(document, origin, path, method.toUpperCase(), operation)
    )
  );
  return GROUPS.flatMap(([pattern, title], place) => {
    const operations = all.filter(({ path }) =>
      GROUPS.findIndex(([other]) => other.test(path)) === place && pattern.test(path)
    );
    return operations.length === 0 ? [] : [{ title, operations }];
  });
}

function describeOperation(
  document: OpenApi,
  origin: string,
  path: string,
  method: string,
  operation: OpenApiOperation,
) {
  const { parameters = [], requestBody, responses, summary = "" } = operation;
  const body = requestBody?.content["application/json"]?.schema;
  const schemas = document.components?.schemas ?? {};
  const needsToken = (document.security ?? []).length > 0;
  return {
    /** Of its place on the page. */
    id: `${method.toLowerCase()}-${path.replaceAll(/[^a-z]+/g, "-")}`,
    method,
    path,
    summary,
    inputs: [
      ...parameters.map(({ name, in: place, required, schema, description }) => ({
        name,
        place,
        type: describeType(schema),
        isRequired: required ?? false,
        description: description ?? schema.description ?? "",
      })),
      ...(body === undefined ? [] : bodyInputs(body, schemas)),
    ],
    answers: Object.entries(responses).map(([status, { description, content = {} }]) => {
      const [[kind, { schema }] = ["", { schema: {} }]] = Object.entries(content);
      const isJson = kind.endsWith("json");
      return {
        status,
        description,
        /** "" without a body. */
        type: kind,
        // What every error says is told once.
        fields: isJson && !kind.includes("problem") ? fieldsOf(schema, schemas) : [],
      };
    }),
    command: curl({ origin, path, method, body, parameters, needsToken }),
  };
}

function bodyInputs(body: Schema, schemas: Readonly<Record<string, Schema>>) {
  const fields = fieldsOf(body, schemas);
  if (fields.length === 0) {
    const type = describeType(body);
    return [{ name: "", place: "body", type, isRequired: true, description: "" }];
  }
  return fields.map((field) => ({ ...field, place: "body" }));
}

function curl(
  { origin, path, method, body, parameters, needsToken }: {
    origin: string;
    path: string;
    method: string;
    body: Schema | undefined;
    parameters: NonNullable<OpenApiOperation["parameters"]>;
    needsToken: boolean;
  },
) {
  const query = parameters.filter(({ in: place, required }) => place === "query" && required)
    .map(({ name, schema }) => `${name}=${schema.enum?.[0] ?? "…"}`).join("&");
  const address = `${origin}${path}${query === "" ? "" : `?${query}`}`;
  return [
    "curl",
    ...(method === "GET" ? [] : ["-X", method]),
    `'${address}'`,
    ...(needsToken ? ['-H "authorization: Bearer $TANGO_TOKEN"'] : []),
    ...(body === undefined
      ? []
      : ["-H 'content-type: application/json'", `-d '${JSON.stringify(exampleOf(body))}'`]),
  ].join(" ");
}

/** A body with what must be in it. */
function exampleOf(schema: Schema): unknown {
  if (schema.example !== undefined) return schema.example;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === "object") {
    return Object.fromEntries(
      Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
        schema.required?.includes(name) ? [[name, exampleOf(property)]] : []
      ),
    );
  }
  if (schema.type === "array") return [];
  return schema.type === "integer" || schema.type === "number" ? schema.minimum ?? 0 : "…";
}
