/** Several processes of Deno at a time over one queue, each one's output in a piece. */

import { PROJECT_FOLDER } from "./project.ts";

/** A process of `deno <args>`. */
export interface TestJob {
  readonly name: string;
  readonly args: readonly string[];
}

/** How it ended. */
export interface JobResult {
  readonly name: string;
  /** Standard output and error, in the order in which they came. */
  readonly output: string;
  readonly code: number;
}

/** Processes in lanes: whichever has ended makes room for the next of the queue. */
export class Lanes {
  readonly #running = new Set<Deno.ChildProcess>();
  #ended = false;

  /**
   * @param count how many run at a time
   * @param environment what they find besides the variables of this process
   * @param write what shows their output: as it comes with one lane, with more when a process has ended
   */
  constructor(
    private readonly count: number,
    private readonly environment: Readonly<Record<string, string>>,
    private readonly write: (bytes: Uint8Array) => void,
  ) {}

  /**
   * Runs jobs in the order given.
   *
   * @param onEnd told of each that ended by itself
   */
  async run(jobs: readonly TestJob[], onEnd: (result: JobResult) => void): Promise<void> {
    const queue = jobs.values();
    const lane = async () => {
      for (const job of queue) {
        if (this.#ended) return;
        const result = await this.#runJob(job);
        if (!this.#ended) onEnd(result);
      }
    };
    await Promise.all(Array.from({ length: this.count }, lane));
  }

  /** Ends what runs, as Ctrl-C does, and begins nothing more. */
  async end(): Promise<void> {
    this.#ended = true;
    const running = [...this.#running];
    for (const child of running) child.kill("SIGINT");
    await Promise.all(running.map(({ status }) => status));
  }

  async #runJob({ name, args }: TestJob): Promise<JobResult> {
    const child = new Deno.Command(Deno.execPath(), {
      args: [...args],
      cwd: PROJECT_FOLDER,
      env: { ...this.environment },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#running.add(child);
    const pieces: Uint8Array[] = [];
    const take = async (stream: ReadableStream<Uint8Array>) => {
      for await (const bytes of stream) {
        pieces.push(bytes);
        if (this.count === 1) this.write(bytes);
      }
    };
    const [{ code }] = await Promise.all([child.status, take(child.stdout), take(child.stderr)]);
    this.#running.delete(child);
    if (this.count > 1 && !this.#ended) pieces.forEach(this.write);
    return { name, output: await new Blob(pieces as BlobPart[]).text(), code };
  }
}
