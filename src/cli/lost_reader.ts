import process from "node:process";
import { writeAll } from "../platform/files/atomic_file.ts";

/** What a terminal that has hung up answers, and a pipe whose reader has ended. */
const GONE = new Set(["EIO", "EPIPE"]);

/**
 * While this lives, printing does not end the process when nobody reads any more: the terminal has hung up, or the
 * program behind a pipe has ended. What is done goes on, unseen.
 */
export class LostReader implements Disposable {
  readonly #log = console.log;
  readonly #error = console.error;

  constructor() {
    console.log = (...values) => unlessGone(() => this.#log(...values));
    console.error = (...values) => unlessGone(() => this.#error(...values));
    for (const stream of [process.stdout, process.stderr]) stream.on("error", throwUnlessGone);
  }

  [Symbol.dispose](): void {
    console.log = this.#log;
    console.error = this.#error;
    for (const stream of [process.stdout, process.stderr]) stream.off("error", throwUnlessGone);
  }
}

/** Writes bytes to somebody who may have gone. */
export function writeToReader(to: typeof Deno.stdout, bytes: Uint8Array): void {
  unlessGone(() => writeAll(to, bytes));
}

function unlessGone(write: () => void): void {
  try {
    write();
  } catch (error) {
    throwUnlessGone(error);
  }
}

function throwUnlessGone(error: unknown): void {
  if (!(error instanceof Error && "code" in error && GONE.has(`${error.code}`))) throw error;
}
