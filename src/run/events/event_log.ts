import { type OpenFile, openSync, SeekMode, truncateSync } from "../../platform/system/files.ts";
import { exists, writeAll } from "../../platform/files/atomic_file.ts";
import { describeDiskError } from "../../platform/files/disk.ts";
import { UserError } from "../../base/user_error.ts";
import { CONTINUE, type RunFolder } from "../store/run_folder.ts";
import type { RunEvent } from "./run_event.ts";
import type { RunEvents } from "./run_events.ts";
import { type EventLine, type ToldEvent, toldEvent } from "./told_event.ts";

/** Longer than any line can be: a message may hold a few paths. */
const LONGEST_LINE = 1 << 20;

/**
 * `events.jsonl`: what a run told, in order, for those who follow it from outside. Lines are numbered from 1 and
 * nothing is ever taken back: a resumed run goes on with the numbers and tells from which step it begins.
 */
export class EventLog implements Disposable {
  readonly #listening: Disposable;
  #file: OpenFile | null = null;
  #number = 0;

  /** Writes what is told from now on; the file appears with the first line. */
  constructor(private readonly folder: RunFolder, events: RunEvents) {
    this.#listening = events.listen((event) => this.#hear(event));
  }

  #hear(event: RunEvent): void {
    const told = toldEvent(event);
    if (told === null) return;
    // The folder of a run that could not begin is gone again.
    if (this.#file === null && !this.folder.isUsed) return;
    const file = this.#file ??= this.#open();
    this.#append(file, told);
    // The events are on the disk before a checkpoint counts on them, and in the end.
    const isCheckpoint = event.type === "phaseBegan" && event.phase === "checkpoint";
    if (isCheckpoint || event.type === "finished" || event.type === "failed") {
      this.#write(() => file.syncSync());
    }
  }

  #append(file: OpenFile, told: ToldEvent): void {
    const line: EventLine = { number: ++this.#number, time: new Date().toISOString(), ...told };
    this.#write(() => writeAll(file, new TextEncoder().encode(`${JSON.stringify(line)}\n`)));
  }

  #open(): OpenFile {
    const path = this.folder.events;
    const { number, bytes, isCut } = lastLine(path);
    this.#number = number;
    return this.#write(() => {
      if (isCut) truncateSync(path, bytes);
      return openSync(path, { append: true, create: true });
    });
  }

  /** @throws UserError when the disk does not take it; a line may then be there in part, as after a crash */
  #write<Result>(body: () => Result): Result {
    try {
      return body();
    } catch (error) {
      throw describeDiskError(error, { path: this.folder.events, next: CONTINUE });
    }
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
    this.#file?.close();
  }
}

/** The number of the last whole line, the bytes up to its end, and whether a crash left another cut short. */
function lastLine(path: string): {
  readonly number: number;
  readonly bytes: number;
  readonly isCut: boolean;
} {
  if (!exists(path)) return { number: 0, bytes: 0, isCut: false };
  using file = openSync(path, { read: true });
  const { size } = file.statSync();
  // The last line may be cut short; the one before it is whole.
  const begin = Math.max(0, size - 2 * LONGEST_LINE);
  file.seekSync(begin, SeekMode.Start);
  const end = new Uint8Array(size - begin);
  for (let read = 0; read < end.length;) {
    const count = file.readSync(end.subarray(read));
    if (count === null) break;
    read += count;
  }
  const whole = end.subarray(0, end.lastIndexOf(0x0a) + 1);
  const isCut = whole.length < end.length;
  if (whole.length === 0 && begin === 0) return { number: 0, bytes: 0, isCut };
  const last = new TextDecoder().decode(whole).split("\n").at(-2) ?? "";
  return { number: numberOf(last, path), bytes: begin + whole.length, isCut };
}

function numberOf(line: string, path: string): number {
  try {
    const { number } = JSON.parse(line);
    if (Number.isSafeInteger(number)) return number;
  } catch {
    // falls through to the one message for every kind of damage
  }
  throw new UserError(
    `${path} is damaged: a JSON object with a "number" was expected in its last line, found ` +
      `${JSON.stringify(line.slice(0, 60))}. Remove the damaged lines.`,
  );
}
