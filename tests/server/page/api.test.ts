import assert from "node:assert/strict";

import { type OpenApi, operationGroups } from "../../../src/server/page/api/operations.ts";
import { describeType } from "../../../src/server/page/api/schema_types.ts";
import { serve } from "../../../src/server/serve.ts";
import { withFolder } from "../written_run.ts";

Deno.test("API page: every request of the server's own description, with what is asked and answered", () =>
  withFolder(async (root) => {
    const access = { hostname: "127.0.0.1", port: 0, token: null };
    await using server = serve({ ...access, root, folders: [], program: "main.ts" });
    const document: OpenApi = await (await fetch(`${server.url}/openapi.json`)).json();
    const groups = operationGroups(document, server.url);
    const operations = groups.flatMap((group) => group.operations);
    const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
    );
    assert.deepEqual(
      operations.map(({ method, path }) => `${method} ${path}`).sort(),
      documented.sort(),
    );
    assert.equal(new Set(operations.map(({ id }) => id)).size, operations.length);
    assert.deepEqual(
      groups.map(({ title }) => title),
      ["Runs", "Models", "Verify", "Benchmarks", "Server"],
    );
    const start = operations.find(({ method, path }) => method === "POST" && path === "/api/runs");
    assert(start !== undefined);
    const asked = new Map(start.inputs.map((input) => [input.name, input]));
    assert.equal(asked.get("kind")?.type, "train | sft | compare");
    assert.deepEqual(
      [asked.get("kind")?.isRequired, asked.get("steps")?.isRequired],
      [true, false],
    );
    assert.equal(asked.get("ranks")?.type, "integer from 1 to 64");
    assert.equal(asked.get("idempotency-key")?.place, "header");
    const answered = start.answers.find(({ status }) => status === "202");
    assert(answered?.fields.some(({ name }) => name === "memory.planned"));
    assert.equal(
      start.command,
      `curl -X POST '${server.url}/api/runs' -H 'content-type: application/json' -d '{"kind":"train"}'`,
    );
  }));

Deno.test("API page: types in words", () => {
  const words = (schema: Parameters<typeof describeType>[0]) => describeType(schema);
  assert.equal(words({ type: "integer", minimum: 0 }), "integer from 0");
  assert.equal(words({ type: ["string", "null"] }), "string | null");
  assert.equal(words({ anyOf: [{ type: "number" }, { type: "null" }] }), "number | null");
  assert.equal(
    words({ type: "array", items: { $ref: "#/components/schemas/Run" } }),
    "list of Run",
  );
  assert.equal(
    words({ type: "object", additionalProperties: { type: "number" } }),
    "object of number",
  );
  assert.equal(words({ const: "solution" }), '"solution"');
  assert.equal(words({}), "anything");
});
