import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { INTERRUPTED_EXIT_CODE } from "../../src/cli/interrupt.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";

const project = join(import.meta.dirname ?? "", "..", "..");

/** How a process ended, and what it printed. */
export interface Outcome {
  readonly code: number;
  readonly output: string;
}

/** Runs of a command as processes that can be killed, in a folder that is removed in the end. */
export class KillableRuns implements Disposable {
  readonly root = Deno.makeTempDirSync();

  constructor(private readonly command: "train" | "sft") {}

  get #config(): string {
    return this.path("config.yaml");
  }

  /** Writes the configuration that runs begin with. */
  configure(config: object): void {
    Deno.writeTextFileSync(this.#config, stringify({ tuning: "default", ...config }));
  }

  /** A path in the folder: a run's, by its name. */
  path(name: string): string {
    return join(this.root, name);
  }

  /** Begins a run and trains it to the end. */
  async train(name: string, seed = 1, options: readonly string[] = []): Promise<void> {
    const { code, output } = await finish(this.#begin(name, seed, options));
    assert.equal(code, 0, output);
  }

  /** Begins a run that may fail. */
  async begin(name: string): Promise<Outcome> {
    return await finish(this.#begin(name, 1, []));
  }

  /**
   * Continues a run to the end.
   *
   * @param preloaded a module that runs in the process before the program
   */
  async resume(
    name: string,
    preloaded?: string,
    options: readonly string[] = [],
  ): Promise<Outcome> {
    return await finish(this.#continue(name, preloaded, options));
  }

  /** Begins or continues a run and kills it as soon as metrics.jsonl has `lines` lines. */
  async trainUntilKilled(
    name: string,
    lines: number,
    { resume = false, options = [] }: {
      readonly resume?: boolean;
      readonly options?: readonly string[];
    } = {},
  ): Promise<void> {
    const command = resume ? this.#continue(name) : this.#begin(name, 1, options);
    const { signal } = await this.#signalled(command, name, lines, "SIGKILL", resume);
    assert.equal(signal, "SIGKILL", "the run ended before it could be killed");
  }

  /** Begins a run and asks it to stop, as Ctrl-C does, as soon as metrics.jsonl has `lines` lines. */
  async trainUntilStopped(name: string, lines: number, options: readonly string[]): Promise<void> {
    const command = this.#begin(name, 1, options);
    const { code } = await this.#signalled(command, name, lines, "SIGINT", false);
    assert.equal(code, INTERRUPTED_EXIT_CODE);
  }

  async #signalled(
    command: Deno.Command,
    name: string,
    lines: number,
    signal: Deno.Signal,
    isResumed: boolean,
  ): Promise<Deno.CommandStatus> {
    const path = this.path(name);
    Deno.mkdirSync(path, { recursive: true });
    using changes = Deno.watchFs(path, { recursive: false });
    const child = command.spawn();
    const output = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
    const { metrics } = RunFolder.at(path);
    const ended = child.status.then(() => changes.close());
    const before = lineCount(metrics);
    for await (const _ of changes) {
      // A resumed run first cuts its log back to the checkpoint.
      if (lineCount(metrics) >= lines && (!isResumed || lineCount(metrics) !== before)) break;
    }
    child.kill(signal);
    await ended;
    await Promise.all(output);
    return await child.status;
  }

  #begin(name: string, seed: number, options: readonly string[]): Deno.Command {
    const place = ["--config", this.#config, "--seed", String(seed), "--run", this.path(name)];
    return this.#command([...options, ...place]);
  }

  #continue(
    name: string,
    preloaded?: string,
    options: readonly string[] = [],
  ): Deno.Command {
    return this.#command(["--resume", "--run", this.path(name), ...options], preloaded);
  }

  #command(options: readonly string[], preloaded?: string): Deno.Command {
    const preload = preloaded === undefined ? [] : ["--preload", preloaded];
    return new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", ...preload, "src/cli/main.ts", this.command, ...options],
      cwd: project,
      stdout: "piped",
      stderr: "piped",
    });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.root, { recursive: true });
  }
}

async function finish(command: Deno.Command): Promise<Outcome> {
  const { code, stdout, stderr } = await command.output();
  const text = new TextDecoder();
  return { code, output: text.decode(stdout) + text.decode(stderr) };
}

function lineCount(path: string): number {
  try {
    return Deno.readTextFileSync(path).split("\n").length - 1;
  } catch {
    return 0;
  }
}

/** Reads a file of a run. */
export const readOf = (run: string, file: string) => Deno.readFileSync(join(run, file));

/** Compares files of two runs to the last byte. */
export function assertSameFiles(run: string, expected: string, files: readonly string[]): void {
  for (const file of files) {
    const a = readOf(run, file);
    const b = readOf(expected, file);
    const place = a.findIndex((byte, i) => byte !== b[i]);
    assert.ok(place < 0 && a.length === b.length, `${file} differs at byte ${place}`);
  }
}
