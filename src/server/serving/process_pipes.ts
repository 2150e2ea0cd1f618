import { joinBytes } from "../../base/join_bytes.ts";
import { frameOf, readFrames } from "./frames.ts";

/**
 * The pipes of a process that a GPU keeps busy: waiting for one stops everything else, so that between two windows the
 * process must see to it itself that what it has told is written, and what it was told is heard.
 */
export class ProcessPipes<From, To> {
  readonly #writer = Deno.stdout.writable.getWriter();
  #frames: Uint8Array[] = [];
  #written: Promise<void> = Promise.resolve();
  #heard = 0;

  /** @param fail called when nobody reads any more */
  constructor(private readonly fail: (error: unknown) => void) {}

  /** Writes a message, together with others that are told at the same time. */
  tell(message: To): void {
    this.#frames.push(frameOf(message));
    if (this.#frames.length > 1) return;
    this.#written = this.#written.then(() => this.#write()).catch(this.fail);
  }

  /** What is told, until nobody tells any more. */
  async *messages(): AsyncGenerator<From> {
    for await (const message of readFrames<From>(Deno.stdin.readable)) {
      this.#heard++;
      yield message;
    }
  }

  /** Until all is written, and all that has come is heard. */
  async catchUp(): Promise<void> {
    let heard: number;
    do {
      heard = this.#heard;
      await this.#written;
      // A turn for what lies in the pipe, and one for what it was cut into.
      for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setTimeout(resolve));
    } while (this.#heard !== heard);
  }

  async #write(): Promise<void> {
    const frames = this.#frames;
    this.#frames = [];
    await this.#writer.write(joinBytes(frames));
  }
}
