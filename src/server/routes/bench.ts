/** The kernel benchmark is started, read, and compared with an earlier one. */

import { type OpenAPIHono, z } from "@hono/zod-openapi";
import { compareResults, comparisonSchema } from "../benchmarks/benchmark_results.ts";
import {
  benchmarkRequestSchema,
  type Benchmarks,
  benchmarkSchema,
  type ListedBenchmark,
  listedBenchmarkSchema,
} from "../benchmarks/benchmarks.ts";
import { RequestProblem } from "../http/problem.ts";
import { gone, json, jsonBody, route } from "../http/route.ts";
import { newApi } from "./api.ts";

const name = z.string().min(1).max(255);
const nameParameter = z.object({
  name: name.openapi({ param: { name: "name", in: "path" }, example: "bench-001" }),
});

const begin = route("post", "/api/bench", {
  summary: "Starts the kernel benchmark",
  body: jsonBody(benchmarkRequestSchema),
  202: json("It is under way; its name reads it.", listedBenchmarkSchema),
  refuses: [409, 503],
});

const list = route("get", "/api/bench", {
  summary: "Benchmarks: those that came with the program, and the server's own",
  200: json("By name.", z.object({ benchmarks: z.array(listedBenchmarkSchema) })),
});

const read = route("get", "/api/bench/{name}", {
  summary: "A benchmark with its results",
  params: nameParameter,
  200: json(
    "Results are null unless it is done.",
    benchmarkSchema,
  ),
  refuses: [404],
});

const remove = route("delete", "/api/bench/{name}", {
  summary: "Removes one of the server's own benchmarks, which is ended first if it goes on",
  params: nameParameter,
  ...gone,
  refuses: [404, 409],
});

const compare = route("get", "/api/bench/{name}/comparison", {
  summary: "A benchmark beside an earlier one",
  params: nameParameter,
  query: z.object({ earlier: name.describe("The other's name.") }),
  200: json("The speed of each kernel, relative to the earlier one.", comparisonSchema),
  refuses: [404, 409],
});

/** Routes of benchmarks. */
export function benchRoutes(benchmarks: Benchmarks): OpenAPIHono {
  const api = newApi();
  api.openapi(begin, (context) => {
    // Without a body the library takes an empty object, of which nothing is missing.
    if (!context.req.header("content-type")) {
      throw new RequestProblem(415, "Send a JSON object, {} at least, as application/json.");
    }
    const { filter, ...asked } = context.req.valid("json");
    const begun = benchmarks.begin({ ...asked, filter: filter.toWellFormed() });
    return context.json(withoutResults(begun), 202);
  });
  api.openapi(
    list,
    (context) => context.json({ benchmarks: benchmarks.all.map(withoutResults) }, 200),
  );
  api.openapi(read, (context) => {
    return context.json(benchmarks.require(context.req.valid("param").name), 200);
  });
  api.openapi(remove, (context) => {
    benchmarks.remove(context.req.valid("param").name);
    return context.body(null, 204);
  });
  api.openapi(compare, (context) => {
    const { name } = context.req.valid("param");
    const { earlier } = context.req.valid("query");
    const now = benchmarks.requireResults(name);
    const before = benchmarks.requireResults(earlier, "earlier");
    return context.json({ name, earlier, ...compareResults(now, before) }, 200);
  });
  return api;
}

function withoutResults({ name, state, startedAt, error }: ListedBenchmark): ListedBenchmark {
  return { name, state, startedAt, error };
}
