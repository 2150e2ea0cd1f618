import { join } from "node:path";
import { z } from "@hono/zod-openapi";
import { exists } from "../../platform/files/atomic_file.ts";
import { RequestProblem } from "../http/problem.ts";
import { WITHOUT_NUL } from "../launches/run_process.ts";
import { type Job, Jobs } from "../models/jobs.ts";
import {
  type BenchmarkResults,
  benchmarkResultsSchema,
  readBenchmarkResults,
} from "./benchmark_results.ts";

/** What is measured. */
export const benchmarkRequestSchema = z.strictObject({
  filter: z.string().max(200).regex(WITHOUT_NUL, "expected no NUL").default("").describe(
    "Only results whose KERNEL/SHAPE contains this.",
  ),
  seconds: z.number().min(0.001).max(60).default(0.5).describe("For each result."),
  gpu: z.enum(["auto", "native", "dawn"]).default("auto").describe(
    "Which engine runs the kernels.",
  ),
});

/** A benchmark without its results. */
export const listedBenchmarkSchema = z.object({
  name: z.string(),
  state: z.enum(["running", "done", "failed"]),
  startedAt: z.string().nullable().describe("ISO 8601; null of one that came with the program."),
  error: z.string().nullable().describe("Why it failed."),
}).openapi("Benchmark");
export type ListedBenchmark = z.infer<typeof listedBenchmarkSchema>;

/** A benchmark that goes on, or was made. */
export const benchmarkSchema = listedBenchmarkSchema.extend({
  results: benchmarkResultsSchema.nullable(),
  output: z.string().describe("What it has printed: a row for each result as it comes."),
});
export type Benchmark = z.infer<typeof benchmarkSchema>;

/** Results that come with the program. */
const SHIPPED = "bench/results";

/** Kernel benchmarks: those that came with the program, and the server's own, which are jobs. */
export class Benchmarks {
  readonly #jobs: Jobs;

  /**
   * @param own the server's own folder
   * @param program the main module of the command line
   */
  constructor(own: string, program: string) {
    const hasResult = ({ results }: { readonly results: string }) => readIfThere(results) !== null;
    this.#jobs = new Jobs(own, "bench", program, hasResult);
  }

  /** Those that came with the program, and the server's own in their order. */
  get all(): Benchmark[] {
    return [...shipped(), ...this.#jobs.all.map((job) => this.#benchmarkOf(job))];
  }

  /** @throws RequestProblem when there is none of that name */
  require(name: string): Benchmark {
    const found = this.all.find((benchmark) => benchmark.name === name);
    if (found) return found;
    throw new RequestProblem(404, `There is no benchmark ${JSON.stringify(name.slice(0, 100))}.`);
  }

  /**
   * The results of one that is done.
   *
   * @param field of the request, that names it
   * @throws RequestProblem when there is none of that name, or it has none yet
   */
  requireResults(name: string, field?: string): BenchmarkResults {
    const { state, results } = this.require(name);
    if (results !== null) return results;
    throw new RequestProblem(409, `The benchmark ${name} has no results: it is ${state}.`, field);
  }

  /**
   * Starts `tango bench`.
   *
   * @throws RequestProblem when one goes on
   */
  begin({ filter, seconds, gpu }: z.output<typeof benchmarkRequestSchema>): Benchmark {
    const argsOf = ({ results }: { readonly results: string }) => [
      ...["bench", "--seconds", String(seconds), "--gpu", gpu, "--json", results],
      ...(filter === "" ? [] : [`--filter=${filter}`]),
    ];
    return this.#benchmarkOf(this.#jobs.begin(argsOf, { filter, seconds, gpu }));
  }

  /**
   * Removes one of the server's own, which is ended first if it goes on.
   *
   * @throws RequestProblem when there is none of that name, or it came with the program
   */
  remove(name: string): void {
    if (this.require(name).startedAt === null) {
      throw new RequestProblem(409, `The benchmark ${name} came with the program and stays.`);
    }
    this.#jobs.remove(name);
  }

  #benchmarkOf({ request: _, ...job }: Job): Benchmark {
    const { results } = this.#jobs.filesOf(job.name);
    return { ...job, results: job.state === "done" ? readIfThere(results) : null };
  }
}

const readIfThere = (path: string) => exists(path) ? readBenchmarkResults(path) : null;

function shipped(): Benchmark[] {
  if (!exists(SHIPPED)) return [];
  return [...Deno.readDirSync(SHIPPED)]
    .filter(({ name, isFile }) => isFile && name.endsWith(".json"))
    .sort((a, b) => a.name < b.name ? -1 : 1)
    .flatMap(({ name: file }): Benchmark[] => {
      const name = file.slice(0, -".json".length);
      const results = readBenchmarkResults(join(SHIPPED, file));
      return results
        ? [{ name, state: "done", startedAt: null, error: null, results, output: "" }]
        : [];
    });
}
