import { mkdirSync, type OpenFile, openSync } from "../../platform/system/files.ts";
import { join } from "../../platform/system/paths.ts";
import { exists, writeAll } from "../../platform/files/atomic_file.ts";
import { describeDiskError } from "../../platform/files/disk.ts";
import type { MetricsLine } from "./metrics_log.ts";
import { CONTINUE } from "./run_folder.ts";
import { fileVersionRecord, restartRecord, scalarsRecord } from "./tensorboard_record.ts";

/**
 * The numbers of metrics.jsonl and timings.jsonl as TensorBoard reads them. Each start of a run writes a file of
 * its own; a resumed one says in it from which step on the earlier files do not hold.
 */
export class TensorBoardLog implements Disposable {
  readonly #path: string;
  readonly #file: OpenFile;

  /**
   * Begins a file in `folder`, which is made when there is none.
   *
   * @param lastStep of a resumed run, the last step whose lines stay
   * @throws UserError when the disk does not take it
   */
  constructor(folder: string, lastStep?: number) {
    this.#path = nextEventFile(folder);
    this.#file = this.#write(() => {
      mkdirSync(folder, { recursive: true });
      return openSync(this.#path, { write: true, createNew: true });
    });
    const wallTime = Date.now() / 1000;
    this.#append(fileVersionRecord(wallTime));
    if (lastStep !== undefined) this.#append(restartRecord({ wallTime, step: lastStep + 1 }));
  }

  /**
   * Appends a line's numbers; words, as of a changed setting, are no scalars.
   *
   * @throws UserError when the disk does not take it
   */
  append({ step, phase: _phase, ...metrics }: MetricsLine): void {
    const scalars = Object.entries(metrics).filter((entry): entry is [string, number] =>
      typeof entry[1] === "number"
    );
    if (scalars.length === 0) return;
    this.#append(scalarsRecord({ wallTime: Date.now() / 1000, step }, scalars));
  }

  /**
   * Waits until everything is on the disk.
   *
   * @throws UserError when the disk does not take it
   */
  sync(): void {
    this.#write(() => this.#file.syncSync());
  }

  #append(record: Uint8Array): void {
    this.#write(() => writeAll(this.#file, record));
  }

  /** @throws UserError when the disk does not take it; a record may then be there in part, as after a crash */
  #write<Result>(body: () => Result): Result {
    try {
      return body();
    } catch (error) {
      throw describeDiskError(error, { path: this.#path, next: CONTINUE });
    }
  }

  /** Closes the file. */
  close(): void {
    this.#file.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** TensorBoard knows event files by a part of their name, and reads those of a folder in the names' order. */
function nextEventFile(folder: string): string {
  for (let number = 1;; number++) {
    const path = join(folder, `events.out.tfevents.${String(number).padStart(6, "0")}`);
    if (!exists(path)) return path;
  }
}
