import assert from "node:assert/strict";
import { z } from "@hono/zod-openapi";
import { gone, json, jsonBody, route } from "../../../src/server/http/route.ts";

const answer = json("It.", z.object({}));
const params = z.object({ id: z.string() });

function statusesOf({ responses }: { readonly responses: object }): number[] {
  return Object.keys(responses).map(Number);
}

Deno.test("route: what all refuse that are asked so stands beside its own refusals", () => {
  const list = route("get", "/all", { summary: "All", 200: answer });
  assert.deepEqual(statusesOf(list), [200, 429]);
  const remove = route("delete", "/all/{id}", { summary: "", params, ...gone, refuses: [404] });
  assert.deepEqual(statusesOf(remove), [204, 404, 422, 429]);
  const act = route("post", "/all/{id}", { summary: "", params, 202: answer, refuses: [409] });
  assert.deepEqual(statusesOf(act), [202, 408, 409, 413, 415, 422, 429]);
  const body = jsonBody(z.object({}));
  const add = route("put", "/all", { summary: "", body, 200: answer, 201: answer });
  assert.deepEqual(statusesOf(add), [200, 201, 400, 408, 413, 422, 429]);
});

Deno.test("route: its answers have the types of the statuses that it documents", () => {
  const act = route("post", "/all/{id}", { summary: "", params, 202: answer, refuses: [409] });
  const statuses: Record<keyof typeof act.responses, true> = {
    ...{ 202: true, 408: true, 409: true, 413: true, 415: true, 422: true, 429: true },
  };
  assert.deepEqual(statusesOf({ responses: statuses }), statusesOf(act));
});
