import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { RunFolder } from "../../src/run/run_folder.ts";

const project = join(import.meta.dirname ?? "", "..", "..");

/** Runs of a command as processes that can be killed, in a folder that is removed in the end. */
export class KillableRuns implements Disposable {
  readonly root = Deno.makeTempDirSync();

  constructor(private readonly command: "train" | "sft") {}

  get #config(): string {
    return this.path("config.yaml");
  }

  /** Writes the configuration that runs begin with. */
  configure(config: object): void {
    Deno.writeTextFileSync(this.#config, stringify(config));
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

  /** Continues a run to the end. */
  async resume(name: string): Promise<{ code: number; output: string }> {
    return await finish(this.#continue(name));
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
    const path = this.path(name);
    Deno.mkdirSync(path, { recursive: true });
    using changes = Deno.watchFs(path, { recursive: false });
    const child = (resume ? this.#continue(name) : this.#begin(name, 1, options)).spawn();
    const { metrics } = RunFolder.at(path);
    const ended = child.status.then(() => changes.close());
    const before = lineCount(metrics);
    for await (const _ of changes) {
      // A resumed run first cuts its log back to the checkpoint.
      if (lineCount(metrics) >= lines && (!resume || lineCount(metrics) !== before)) break;
    }
    child.kill("SIGKILL");
    await ended;
    const { signal } = await child.status;
    await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
    assert.equal(signal, "SIGKILL", "the run ended before it could be killed");
  }

  #begin(name: string, seed: number, options: readonly string[]): Deno.Command {
    return this.#command(
      ...options,
      "--config",
      this.#config,
      "--seed",
      String(seed),
      "--run",
      this.path(name),
    );
  }

  #continue(name: string): Deno.Command {
    return this.#command("--resume", "--run", this.path(name));
  }

  #command(...options: string[]): Deno.Command {
    return new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "src/cli/main.ts", this.command, ...options],
      cwd: project,
      stdout: "piped",
      stderr: "piped",
    });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.root, { recursive: true });
  }
}

async function finish(command: Deno.Command): Promise<{ code: number; output: string }> {
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
