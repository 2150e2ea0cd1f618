import { join, resolve } from "node:path";
import { z } from "zod";
import { exists, removeIfPresent, writeFileAtomically } from "../../base/atomic_file.ts";
import { isAlive, killGroup, type ProcessIdentity } from "../../base/process_identity.ts";
import { RequestProblem } from "../http/problem.ts";
import { lastErrorLines, startProcess } from "../launches/run_process.ts";
import { type BenchmarkResults, readBenchmarkResults } from "./benchmark_results.ts";

/** What is measured. */
export interface BenchmarkRequest {
  /** Only results whose KERNEL/SHAPE contains this. */
  readonly filter: string;
  /** For each result. */
  readonly seconds: number;
  readonly gpu: "auto" | "native" | "dawn";
}

/** A benchmark that goes on, or was made. */
export interface Benchmark {
  readonly name: string;
  readonly state: "running" | "done" | "failed";
  /** ISO 8601, UTC; null of one that came with the program. */
  readonly startedAt: string | null;
  /** Why it failed. */
  readonly error: string | null;
  /** Null unless it is done. */
  readonly results: BenchmarkResults | null;
  /** What it has printed: a row for each result as it comes; empty of one that came with the program. */
  readonly output: string;
}

/** Results that come with the program. */
const SHIPPED = "bench/results";

/**
 * Kernel benchmarks. Each of the server's is a process that outlives it and a folder, `bench-001` and so on, which
 * says all there is to know of it.
 */
export class Benchmarks {
  readonly #folder: string;

  /**
   * @param own the server's own folder
   * @param program the main module of the command line
   */
  constructor(own: string, private readonly program: string) {
    this.#folder = resolve(own, "bench");
  }

  /** Those that came with the program, and the server's own in their order. */
  get all(): Benchmark[] {
    return [...shipped(), ...this.#own().map((name) => this.#read(name))];
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
  begin({ filter, seconds, gpu }: BenchmarkRequest): Benchmark {
    const going = this.all.find(({ state }) => state === "running");
    if (going) {
      throw new RequestProblem(409, `The benchmark ${going.name} goes on; two would disturb it.`);
    }
    const last = Math.max(0, ...this.#own().map((name) => Number(OWN_NAME.exec(name)?.[1])));
    const name = `bench-${String(last + 1).padStart(3, "0")}`;
    const files = this.#filesOf(name);
    Deno.mkdirSync(files.folder, { recursive: true, mode: 0o700 });
    // How it ended is in its folder, for a server that is started later too.
    const { process } = startProcess(
      this.program,
      [
        ...["bench", "--seconds", String(seconds), "--gpu", gpu, "--json", files.results],
        ...(filter === "" ? [] : [`--filter=${filter}`]),
      ],
      files,
    );
    const started: StartedFile = { process, startedAt: new Date().toISOString() };
    writeFileAtomically(files.started, JSON.stringify(started));
    return this.#read(name);
  }

  /**
   * Removes one of the server's own, which is ended first if it goes on.
   *
   * @throws RequestProblem when there is none of that name, or it came with the program
   */
  remove(name: string): void {
    this.require(name);
    if (!this.#own().includes(name)) {
      throw new RequestProblem(409, `The benchmark ${name} came with the program and stays.`);
    }
    const process = this.#startedOf(name)?.process;
    if (process) killGroup(process);
    removeIfPresent(this.#filesOf(name).folder);
  }

  #startedOf(name: string): StartedFile | null {
    const { started } = this.#filesOf(name);
    // A server that was killed in the moment between has left none.
    return exists(started) ? startedSchema.parse(JSON.parse(Deno.readTextFileSync(started))) : null;
  }

  #read(name: string): Benchmark {
    const files = this.#filesOf(name);
    const { results: written, output } = files;
    const started = this.#startedOf(name);
    const printed = exists(output) ? Deno.readTextFileSync(output) : "";
    const base = { name, startedAt: started?.startedAt ?? null, output: printed };
    if (started && isAlive(started.process)) {
      return { ...base, state: "running", error: null, results: null };
    }
    const results = exists(written) ? readBenchmarkResults(written) : null;
    if (results) return { ...base, state: "done", error: null, results };
    const error = lastErrorLines(files) ?? "Its process is gone without a word.";
    return { ...base, state: "failed", error, results: null };
  }

  #own(): string[] {
    if (!exists(this.#folder)) return [];
    return [...Deno.readDirSync(this.#folder)].map(({ name }) => name)
      .filter((name) => OWN_NAME.test(name)).sort();
  }

  #filesOf(name: string) {
    const folder = join(this.#folder, name);
    return {
      folder,
      started: join(folder, "started.json"),
      output: join(folder, "output.log"),
      errors: join(folder, "errors.log"),
      results: join(folder, "results.json"),
    };
  }
}

const OWN_NAME = /^bench-(\d{3,})$/;

const startedSchema = z.object({
  process: z.object({ pid: z.int(), started: z.string(), place: z.string() }),
  startedAt: z.string(),
});

interface StartedFile {
  readonly process: ProcessIdentity;
  readonly startedAt: string;
}

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
