import type { Arm } from "./arms.ts";
import type { ManyRows } from "./many_rows.ts";
import type { Told } from "./ask_process.ts";

/** What the process of the askers is told, a line of JSON each. */
export type Order =
  | { readonly order: "become"; readonly arm: Arm }
  | { readonly order: "takeReads" }
  | { readonly order: "takeWatchers"; readonly events: number };

/** All who ask, in a process of their own: what they take of the processor is not the server's. */
export class Askers {
  readonly #answers: ReadableStreamDefaultReader<string>;
  readonly #orders: WritableStreamDefaultWriter<Uint8Array>;
  #rest = "";

  private constructor(private readonly child: Deno.ChildProcess) {
    this.#answers = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#orders = child.stdin.getWriter();
  }

  /**
   * @param many the run whose metrics are read
   * @param trained the run whose events are followed
   */
  static async start(
    url: string,
    many: string,
    trained: string,
    rows: ManyRows,
  ): Promise<Askers> {
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--no-check", import.meta.resolve("./ask_process.ts")],
        JSON.stringify({ url, many, trained, rows }),
      ],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const askers = new Askers(child);
    await askers.takeReads();
    return askers;
  }

  get pid(): number {
    return this.child.pid;
  }

  async become(arm: Arm): Promise<void> {
    await this.#ask({ order: "become", arm });
  }

  /** How long each read took since this was asked last, in ms. */
  async takeReads(): Promise<readonly number[]> {
    const told = await this.#ask({ order: "takeReads" });
    return told.reads;
  }

  /**
   * Has all watchers see the rest, and ends.
   *
   * @param events that the run told
   * @returns what they were told
   */
  async end(events: number): Promise<string> {
    const { watchers } = await this.#ask({ order: "takeWatchers", events });
    await this.#orders.close();
    await this.child.status;
    return watchers;
  }

  async #ask(order: Order): Promise<Told> {
    await this.#orders.write(new TextEncoder().encode(`${JSON.stringify(order)}\n`));
    while (!this.#rest.includes("\n")) {
      const { value } = await this.#answers.read();
      if (value === undefined) throw new Error("the askers have ended");
      this.#rest += value;
    }
    const end = this.#rest.indexOf("\n");
    const line = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end + 1);
    return JSON.parse(line);
  }
}
