import { type OpenFile, openSync } from "../../platform/system/files.ts";
import { writeAll } from "../../platform/files/atomic_file.ts";
import { describeDiskError } from "../../platform/files/disk.ts";
import { CONTINUE } from "../store/run_folder.ts";
import { type Moment, type Span, TRACKS } from "./span.ts";

/** One object of the file. Times in microseconds. */
interface TraceEvent {
  readonly name: string;
  /** M: says what a rank or row is called; X: a span; i: a moment. */
  readonly ph: "M" | "X" | "i";
  readonly pid: number;
  readonly tid: number;
  readonly ts?: number;
  readonly dur?: number;
  /** A moment's mark is as high as its process. */
  readonly s?: "p";
  readonly args?: Readonly<Record<string, number | string>>;
}

/**
 * A timeline for Perfetto (ui.perfetto.dev) and chrome://tracing: the Trace Event Format's array, one event a
 * line, each line written as soon as it is known. The format lets the end of the array be missing, so the file
 * of a run that was killed can be opened as it is. A rank is a process there, a track a thread.
 */
export class TraceFile implements Disposable {
  readonly #file: OpenFile;
  #isEmpty = true;

  /**
   * @param path written anew
   * @param started the moment that becomes 0
   * @throws UserError when the file cannot be written
   */
  constructor(readonly path: string, private readonly started: number) {
    this.#file = this.#write(() => openSync(path, { write: true, create: true, truncate: true }));
  }

  /** Says what a rank is called. */
  nameRank(rank: number, name: string): void {
    const names: TraceEvent[] = [
      { name: "process_name", ph: "M", pid: rank, tid: 0, args: { name } },
      { name: "process_sort_index", ph: "M", pid: rank, tid: 0, args: { sort_index: rank } },
    ];
    TRACKS.forEach((track, tid) => {
      names.push({ name: "thread_name", ph: "M", pid: rank, tid, args: { name: track } });
      names.push({ name: "thread_sort_index", ph: "M", pid: rank, tid, args: { sort_index: tid } });
    });
    this.#append(names);
  }

  /** Adds what a rank did, its times already on the clock of the rank that writes. */
  add(rank: number, happened: readonly (Span | Moment)[]): void {
    this.#append(happened.map((one) => {
      const { name, track, begin, facts: args } = one;
      const event = { name, pid: rank, tid: TRACKS.indexOf(track), ts: this.#microseconds(begin) };
      return "end" in one
        ? { ...event, ph: "X", dur: microseconds(one.end - one.begin), args }
        : { ...event, ph: "i", s: "p", args };
    }));
  }

  /** Ends the array and closes the file. */
  [Symbol.dispose](): void {
    try {
      this.#write(() => writeAll(this.#file, encode("\n]\n")));
    } finally {
      this.#file.close();
    }
  }

  #microseconds(moment: number): number {
    return microseconds(moment - this.started);
  }

  #append(events: readonly TraceEvent[]): void {
    if (events.length === 0) return;
    const lines = events.map((event) => JSON.stringify(event)).join(",\n");
    this.#write(() => writeAll(this.#file, encode((this.#isEmpty ? "[\n" : ",\n") + lines)));
    this.#isEmpty = false;
  }

  #write<Result>(body: () => Result): Result {
    try {
      return body();
    } catch (error) {
      throw describeDiskError(error, { path: this.path, next: CONTINUE });
    }
  }
}

const encode = (text: string) => new TextEncoder().encode(text);

/** To the nanosecond. */
function microseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1e6) / 1e3;
}
