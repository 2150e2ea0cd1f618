import { join, resolve } from "node:path";
import { z } from "@hono/zod-openapi";
import { exists, removeIfPresent, writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { isAlive, killGroup } from "../../platform/process/process_identity.ts";
import { RequestProblem } from "../http/problem.ts";
import { lastErrorLines, type OutputFiles, startProcess } from "../launches/run_process.ts";

/** What is done in a process of its own, and was done. */
export const jobSchema = z.object({
  name: z.string(),
  state: z.enum(["running", "done", "failed"]),
  startedAt: z.string().describe("ISO 8601."),
  request: z.record(z.string(), z.unknown()).describe("As it was asked for."),
  error: z.string().nullable().describe("Why it failed."),
  output: z.string().describe("What it has printed."),
}).openapi("Job");
export type Job = z.infer<typeof jobSchema>;

/**
 * Commands that the server was asked for. Each is a process that outlives the server and a folder, `eval-001` and so on,
 * which says all there is to know of it.
 */
export class Jobs {
  readonly #folder: string;
  readonly #name: RegExp;

  /**
   * @param own the server's own folder
   * @param kind begins their names
   * @param program the main module of the command line
   * @param hasResult whether a command that has ended has done what it was asked for
   */
  constructor(
    own: string,
    private readonly kind: string,
    private readonly program: string,
    private readonly hasResult: (files: JobFiles) => boolean = hasPrinted,
  ) {
    this.#folder = resolve(own, kind);
    this.#name = new RegExp(`^${kind}-(\\d{3,})$`);
  }

  /** In their order. */
  get all(): Job[] {
    if (!exists(this.#folder)) return [];
    return [...Deno.readDirSync(this.#folder)].map(({ name }) => name)
      .filter((name) => this.#name.test(name) && exists(this.filesOf(name).started)).sort()
      .map((name) => this.#read(name));
  }

  /** @throws RequestProblem when there is none of that name */
  require(name: string): Job {
    const found = this.all.find((job) => job.name === name);
    if (found) return found;
    throw new RequestProblem(
      404,
      `There is no ${this.kind} ${JSON.stringify(name.slice(0, 100))}.`,
    );
  }

  /**
   * Starts a command.
   *
   * @param argsOf as a person would type them after `./tango`
   * @throws RequestProblem while one goes on: each takes a model's memory on the GPU
   */
  begin(argsOf: (files: JobFiles) => readonly string[], request: Record<string, unknown>): Job {
    const { all } = this;
    const going = all.find(({ state }) => state === "running");
    if (going) throw new RequestProblem(409, `${going.name} goes on: wait for it, or end it.`);
    const last = Math.max(0, ...all.map(({ name }) => Number(this.#name.exec(name)?.[1])));
    const name = `${this.kind}-${String(last + 1).padStart(3, "0")}`;
    const files = this.filesOf(name);
    removeIfPresent(files.folder); // of a server that was killed in the moment between
    Deno.mkdirSync(files.folder, { recursive: true, mode: 0o700 });
    const { process } = startProcess(this.program, argsOf(files), files);
    const started: Started = { process, startedAt: new Date().toISOString(), request };
    writeFileAtomically(files.started, JSON.stringify(started));
    return this.#read(name);
  }

  /**
   * Removes one with its result; it is ended first if it goes on.
   *
   * @throws RequestProblem when there is none of that name
   */
  remove(name: string): void {
    this.require(name);
    killGroup(this.#startedOf(name).process);
    removeIfPresent(this.filesOf(name).folder);
  }

  #startedOf(name: string): Started {
    return startedSchema.parse(JSON.parse(Deno.readTextFileSync(this.filesOf(name).started)));
  }

  #read(name: string): Job {
    const files = this.filesOf(name);
    const { process, startedAt, request } = this.#startedOf(name);
    const isGoing = isAlive(process);
    const output = exists(files.output) ? Deno.readTextFileSync(files.output) : "";
    const job = { name, startedAt, request, output };
    if (isGoing) return { ...job, state: "running", error: null };
    if (this.hasResult(files)) return { ...job, state: "done", error: null };
    const error = lastErrorLines(files) ?? "Its process is gone without a word.";
    return { ...job, state: "failed", error };
  }

  /** Where all that is known of one lies. */
  filesOf(name: string): JobFiles {
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

/** Files of a job in a folder of its own. */
export interface JobFiles extends OutputFiles {
  readonly folder: string;
  /** Its process. */
  readonly started: string;
  /** Of a command that writes what it has found, rather than printing it at last. */
  readonly results: string;
}

/** The last that such a command does is to print what it has found or written. */
const hasPrinted = ({ output }: JobFiles) => exists(output) && Deno.statSync(output).size > 0;

const startedSchema = z.object({
  process: z.object({ pid: z.int(), started: z.string(), place: z.string() }),
  startedAt: z.string(),
  request: z.record(z.string(), z.unknown()).default({}),
});
type Started = z.infer<typeof startedSchema>;
