import { join } from "node:path";
import { processStart } from "../../../src/platform/process/process_start.ts";
import type { MeetingPoint } from "../../../src/distributed/watch/meeting_point.ts";

const program = join(import.meta.dirname ?? "", "watched_process.ts");

/** How a rank ended. */
export interface RankOutcome {
  readonly code: number;
  readonly signal: string | null;
  /** The lines that it printed once all were at work. */
  readonly lines: readonly unknown[];
  readonly errors: string;
}

/** Where a rank runs. */
export interface Place {
  readonly host: string;
  /** A command that runs another one there, such as `ip netns exec name`. */
  readonly command: readonly string[];
}

const here: Place = { host: "here", command: [] };

/** Ranks of `watched_process.ts` that watch each other. */
export class WatchedRanks {
  private constructor(private readonly ranks: readonly Rank[]) {}

  /**
   * Starts them, and returns when all are at work.
   *
   * @param visit called with where rank 0 listens, before any other rank comes
   */
  static async start(
    task: string,
    places: readonly Place[] = [here, here, here],
    visit: (point: MeetingPoint) => Promise<void> = () => Promise.resolve(),
  ): Promise<WatchedRanks> {
    const ranks = places.map((place, rank) => new Rank(task, rank, place));
    const identities = await Promise.all(ranks.map((rank) => rank.next()));
    for (const rank of ranks) rank.tell(identities);
    const point = await ranks[0].next();
    await visit(point as MeetingPoint);
    for (const rank of ranks.slice(1)) rank.tell(point);
    await Promise.all(ranks.map((rank) => rank.next()));
    return new WatchedRanks(ranks);
  }

  /** Lets all go on; `one` is the rank whose task is another. */
  go(one: number | null): void {
    this.ranks.forEach((rank, i) => rank.tell(i === one));
  }

  /** The next line that a rank prints. */
  next(rank: number): Promise<unknown> {
    return this.ranks[rank].next();
  }

  signal(rank: number, signal: Deno.Signal): void {
    this.ranks[rank].child.kill(signal);
  }

  /** Waits until a rank has ended. */
  async ended(rank: number): Promise<void> {
    await this.ranks[rank].child.status;
  }

  /** Waits until a rank counts as ended, though threads of it may go on. */
  async mainThreadEnded(rank: number): Promise<void> {
    const { pid } = this.ranks[rank].child;
    while (processStart(pid) !== null) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /** Waits until all have ended, for half a minute. */
  async outcomes(): Promise<RankOutcome[]> {
    const late = setTimeout(() => this.ranks.forEach(({ child }) => child.kill("SIGKILL")), 30_000);
    const outcomes = await Promise.all(this.ranks.map((rank) => rank.outcome()));
    clearTimeout(late);
    return outcomes;
  }
}

class Rank {
  readonly child: Deno.ChildProcess;
  readonly #output: AsyncGenerator<unknown>;
  readonly #errors: Promise<string>;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;

  constructor(task: string, rank: number, { host, command }: Place) {
    const line = [...command, Deno.execPath(), "run", "-A", "--no-check", program];
    this.child = new Deno.Command(line[0], {
      args: [...line.slice(1), task, String(rank), host],
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#output = values(this.child.stdout);
    this.#errors = new Response(this.child.stderr).text();
    this.#input = this.child.stdin.getWriter();
  }

  async next(): Promise<unknown> {
    const { done, value } = await this.#output.next();
    if (done) throw new Error(`a rank ended: ${await this.#errors}`);
    return value;
  }

  tell(value: unknown): void {
    // One that has ended hears nothing more.
    this.#input.write(new TextEncoder().encode(`${JSON.stringify(value)}\n`)).catch(() => {});
  }

  async outcome(): Promise<RankOutcome> {
    const lines = await Array.fromAsync(this.#output);
    const { code, signal } = await this.child.status;
    await this.#input.close().catch(() => {});
    return { code, signal, lines, errors: await this.#errors };
  }
}

async function* values(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<unknown> {
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (text + part).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line);
  }
}
