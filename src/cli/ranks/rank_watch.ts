import { join } from "node:path";
import type { RankWord, WatchedWord } from "./launch_notes.ts";

/** How the first rank ended that did not end well: with an exit code, or null when it said nothing. */
export interface RankEnd {
  readonly rank: number;
  readonly pid: number;
  readonly code: number | null;
}

/** How far a rank is. */
export type RankStage = "here" | "joined" | "begun";

/** Milliseconds in which a word is read that was sent before. */
const READING_MS = 400;
/** A rank whose end is read as soon after its first word had ended before that word was read. */
const AT_ONCE_MS = 20;

/**
 * The side of the process that `--ranks` was said to: hears of its ranks, and sees to it that none outlives it. A small
 * shell waits for the end of this process, however it comes, and ends what is left of them.
 */
export class RankWatch implements Disposable {
  readonly #folder = Deno.makeTempDirSync({ prefix: "tango-" });
  readonly #listener: Deno.UnixListener;
  readonly #pids = new Map<number, number>();
  readonly #words = new Map<number, WatchedWord>();
  readonly #stages = new Map<number, RankStage>();
  /** When a rank was last heard of. */
  #lastWord = performance.now();
  readonly #shell: Deno.ChildProcess;
  readonly #toShell: WritableStreamDefaultWriter<Uint8Array>;
  readonly #failed = Promise.withResolvers<RankEnd>();
  /** Where ranks report; see `LaunchNotes`. */
  readonly socket: string = join(this.#folder, "ranks");
  /** Settles when a rank ends with another exit code than 0, or without a word. */
  readonly failed: Promise<RankEnd> = this.#failed.promise;

  constructor() {
    this.#listener = Deno.listen({ transport: "unix", path: this.socket });
    this.#shell = new Deno.Command("sh", {
      args: ["-c", 'while read -r pid; do pids="$pids $pid"; done; kill -KILL $pids'],
      stdin: "piped",
      stdout: "null",
      stderr: "null",
      detached: true, // Ctrl-C is not meant for it
    }).spawn();
    this.#toShell = this.#shell.stdin.getWriter();
    void this.#listen();
  }

  /** Has a process ended when this one is. */
  async add(pid: number): Promise<void> {
    await this.#toShell.write(new TextEncoder().encode(`${pid}\n`));
  }

  /** What a watched rank told last; null of one that is not. */
  wordOf(rank: number): WatchedWord | null {
    return this.#words.get(rank) ?? null;
  }

  /** How far a rank is; null before it has reported. */
  stageOf(rank: number): RankStage | null {
    return this.#stages.get(rank) ?? null;
  }

  /** Seconds in which no rank was heard of. */
  get silentSeconds(): number {
    return (performance.now() - this.#lastWord) / 1000;
  }

  /** The process of a rank; null before it has reported. */
  pidOf(rank: number): number | null {
    return this.#pids.get(rank) ?? null;
  }

  /** Ends all ranks that are left. */
  end(): void {
    for (const pid of this.#pids.values()) signalProcess(pid, "SIGKILL");
  }

  [Symbol.dispose](): void {
    this.end();
    this.#listener.close();
    this.#shell.kill("SIGKILL");
    Deno.removeSync(this.#folder, { recursive: true });
  }

  async #listen(): Promise<void> {
    for await (const connection of this.#listener) void this.#hear(connection);
  }

  async #hear(connection: Deno.UnixConn): Promise<void> {
    const end = { rank: -1, pid: 0, code: null as number | null };
    let text = "";
    let firstWord = 0;
    for await (const part of connection.readable.pipeThrough(new TextDecoderStream())) {
      const lines = (text + part).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        const word = JSON.parse(line) as RankWord;
        this.#lastWord = performance.now();
        if (word.type === "here") {
          firstWord = this.#lastWord;
          Object.assign(end, { rank: word.rank, pid: word.pid });
          this.#pids.set(word.rank, word.pid);
          this.#stages.set(word.rank, "here");
          await this.add(word.pid);
        } else if (word.type === "watched") this.#words.set(end.rank, word);
        else if (word.type !== "end") this.#stages.set(end.rank, word.type);
        else {
          end.code = word.code;
          if (word.code !== 0) this.#failed.resolve(end);
        }
      }
    }
    if (end.rank < 0 || end.code !== null) return;
    // `mpiexec` may have ended it because another rank had failed, whose word, or whose end without one, is
    // still to be read on a busy machine.
    const wasOver = performance.now() - firstWord < AT_ONCE_MS;
    await new Promise((resolve) => setTimeout(resolve, wasOver ? 0 : READING_MS));
    this.#failed.resolve(end);
  }
}

/** Sends a signal to a process that may have ended. */
export function signalProcess(pid: number, signal: Deno.Signal): void {
  try {
    Deno.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
