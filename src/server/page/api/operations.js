/** What the server's OpenAPI document says of each request, as the page shows it. */

import { describeType, fieldsOf } from "./schema_types.js";

/**
 * @import { OpenApi, OpenApiOperation, Schema } from "../contract.ts"
 * @import { TypedField } from "./schema_types.js"
 */

/**
 * @typedef {object} Input
 * @property {string} name
 * @property {string} place path, query, header or body
 * @property {string} type
 * @property {boolean} isRequired
 * @property {string} description
 */

/**
 * @typedef {object} Answer
 * @property {string} status
 * @property {string} description
 * @property {string} type "" without a body
 * @property {readonly TypedField[]} fields
 */

/**
 * @typedef {object} Operation
 * @property {string} id of its place on the page
 * @property {string} method in capitals
 * @property {string} path
 * @property {string} summary
 * @property {readonly Input[]} inputs
 * @property {readonly Answer[]} answers
 * @property {string} command for a shell
 */

/** @typedef {{ title: string, operations: Operation[] }} OperationGroup */

/** @type {readonly [RegExp, string][]} */
const GROUPS = [
  [/^\/api\/(runs|plan|presets|schema)\b/, "Runs"],
  [/^\/api\/models\b/, "Models"],
  [/^\/api\/verify\b/, "Verify"],
  [/^\/api\/bench\b/, "Benchmarks"],
  [/^/, "Server"],
];

/**
 * All requests, by what they are about.
 *
 * @param {OpenApi} document
 * @param {string} origin of the server, for commands
 * @returns {OperationGroup[]}
 */
export function operationGroups(document, origin) {
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

/**
 * @param {OpenApi} document
 * @param {string} origin
 * @param {string} path
 * @param {string} method
 * @param {OpenApiOperation} operation
 * @returns {Operation}
 */
function describeOperation(document, origin, path, method, operation) {
  const { parameters = [], requestBody, responses, summary = "" } = operation;
  const body = requestBody?.content["application/json"]?.schema;
  const schemas = document.components?.schemas ?? {};
  const needsToken = (document.security ?? []).length > 0;
  return {
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
        type: kind,
        // What every error says is told once.
        fields: isJson && !kind.includes("problem") ? fieldsOf(schema, schemas) : [],
      };
    }),
    command: curl({ origin, path, method, body, parameters, needsToken }),
  };
}

/**
 * @param {Schema} body
 * @param {Readonly<Record<string, Schema>>} schemas
 * @returns {Input[]}
 */
function bodyInputs(body, schemas) {
  const fields = fieldsOf(body, schemas);
  if (fields.length === 0) {
    const type = describeType(body);
    return [{ name: "", place: "body", type, isRequired: true, description: "" }];
  }
  return fields.map((field) => ({ ...field, place: "body" }));
}

/**
 * @param {object} request
 * @param {string} request.origin
 * @param {string} request.path
 * @param {string} request.method
 * @param {Schema | undefined} request.body
 * @param {NonNullable<OpenApiOperation["parameters"]>} request.parameters
 * @param {boolean} request.needsToken
 */
function curl({ origin, path, method, body, parameters, needsToken }) {
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

/**
 * A body with what must be in it.
 *
 * @param {Schema} schema
 * @returns {unknown}
 */
function exampleOf(schema) {
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
