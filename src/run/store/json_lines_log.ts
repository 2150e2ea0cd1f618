/** An append-only file of one JSON object per line, each with the global step it belongs to. */

import { UserError } from "../../base/user_error.ts";
import { exists, writeAll } from "../../base/atomic_file.ts";
import { describeDiskError } from "../../base/disk.ts";
import { CONTINUE } from "./run_folder.ts";

/** What a line must hold: the global step that wrote it. */
export interface StepLine {
  readonly step: number;
}

/** A value that JSON can hold. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** A JSON Lines file that a run appends to and a resumed run continues byte for byte. */
export class JsonLinesLog<Line extends StepLine> implements Disposable {
  private readonly file: Deno.FsFile;

  /**
   * Opens the log for appending and creates it when there is none.
   *
   * @param lastStep when resuming, the checkpoint's step: later lines, and a last line cut short by a
   *   crash, are removed. Everything that belongs to a step must therefore be logged before that step's
   *   checkpoint is written. Without it the log must be empty or absent.
   * @throws UserError when lines that must be kept are damaged, a new log would continue an old one, or the
   *   file cannot be written
   */
  constructor(readonly path: string, lastStep?: number) {
    if (exists(path)) {
      if (lastStep === undefined) {
        if (Deno.statSync(path).size > 0) {
          throw new UserError(
            `${path} already holds a log; resume that run or choose another folder.`,
          );
        }
      } else {
        const bytes = bytesUpToStep(path, lastStep);
        this.#write(() => Deno.truncateSync(path, bytes));
      }
    }
    this.file = this.#write(() => Deno.openSync(path, { append: true, create: true }));
  }

  /** @throws UserError when the disk does not take it; a line may then be there in part, as after a crash */
  #write<Result>(body: () => Result): Result {
    try {
      return body();
    } catch (error) {
      throw describeDiskError(error, { path: this.path, next: CONTINUE });
    }
  }

  /**
   * Appends one line.
   *
   * @throws UserError when the disk does not take it
   * @throws Error when a number in it is NaN or infinite: JSON would silently turn it into null
   */
  append(line: Line): void {
    requireFinite(line, `step ${line.step}`, this.path);
    const bytes = new TextEncoder().encode(JSON.stringify(line) + "\n");
    this.#write(() => writeAll(this.file, bytes));
  }

  /**
   * Waits until all lines are on the disk; call it before a checkpoint that counts on them.
   *
   * @throws UserError when the disk does not take them
   */
  sync(): void {
    this.#write(() => this.file.syncSync());
  }

  /** Closes the file. */
  close(): void {
    this.file.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/**
 * Reads a log; a last line without its line end (cut short by a crash) is left out.
 *
 * @throws UserError when a whole line is not a JSON object with a step
 */
export function readJsonLines<Line extends StepLine>(path: string): Line[] {
  return [...wholeLines(Deno.readFileSync(path))].map(({ text }, index) =>
    parseLine(text, index + 1, path) as Line
  );
}

function bytesUpToStep(path: string, lastStep: number): number {
  const bytes = Deno.readFileSync(path);
  let number = 0;
  for (const { text, begin } of wholeLines(bytes)) {
    number++;
    if (parseLine(text, number, path).step > lastStep) return begin;
  }
  return bytes.lastIndexOf(0x0a) + 1;
}

function* wholeLines(bytes: Uint8Array): Generator<{ text: string; begin: number }> {
  const decoder = new TextDecoder();
  let begin = 0;
  while (true) {
    const end = bytes.indexOf(0x0a, begin);
    if (end < 0) return;
    yield { text: decoder.decode(bytes.subarray(begin, end)), begin };
    begin = end + 1;
  }
}

function parseLine(text: string, number: number, path: string): StepLine {
  try {
    const line = JSON.parse(text);
    if (typeof line?.step === "number") return line;
  } catch {
    // falls through to the one message for every kind of damage
  }
  throw new UserError(
    `${path}:${number} is damaged: a JSON object with a "step" was expected, found ` +
      `${JSON.stringify(text.slice(0, 60))}. Remove the damaged lines and those after them.`,
  );
}

function requireFinite(value: unknown, where: string, path: string): void {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new Error(`${path}: ${where} is ${value}; only finite numbers can be logged`);
  }
  if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value)) requireFinite(item, `${where}, ${key}`, path);
  }
}
