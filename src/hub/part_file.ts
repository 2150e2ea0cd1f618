/** A file that is being fetched, beside its final place, with its hash so far. */

import { dirname } from "node:path";
import { exists, removeIfPresent, writeAll } from "../platform/files/atomic_file.ts";
import { hashFile, type RunningHash, startHash } from "./checksum.ts";
import type { WantedFile } from "./listing.ts";
import { PART_ENDING } from "./names.ts";

/** The bytes of a file that have arrived. They stay when it is disposed of before `finish`. */
export class PartFile implements Disposable {
  private isOpen = true;

  private constructor(
    private readonly target: string,
    private readonly wanted: WantedFile,
    private readonly file: Deno.FsFile,
    private hash: RunningHash,
    private arrived: number,
  ) {}

  /**
   * Opens the part of a file that will be at `target`.
   *
   * @param mayContinue whether bytes already there belong to this file
   */
  static async open(
    target: string,
    wanted: WantedFile,
    mayContinue: boolean,
    signal: AbortSignal,
  ): Promise<PartFile> {
    const path = target + PART_ENDING;
    const hash = () => startHash(wanted.checksum.algorithm, wanted.size);
    Deno.mkdirSync(dirname(target), { recursive: true });
    if (!mayContinue || partSize(target) > wanted.size) removeIfPresent(path);
    const length = partSize(target);
    const running = hash();
    if (length > 0) await hashFile(running, path, signal);
    const file = Deno.openSync(path, { write: true, create: true });
    file.seekSync(length, Deno.SeekMode.Start);
    return new PartFile(target, wanted, file, running, length);
  }

  /** Bytes that have arrived. */
  get length(): number {
    return this.arrived;
  }

  append(bytes: Uint8Array): void {
    writeAll(this.file, bytes);
    this.hash.update(bytes);
    this.arrived += bytes.length;
  }

  /** Forgets what has arrived. */
  restart(): void {
    this.file.truncateSync(0);
    this.file.seekSync(0, Deno.SeekMode.Start);
    this.hash = startHash(this.wanted.checksum.algorithm, this.wanted.size);
    this.arrived = 0;
  }

  /**
   * Puts the complete file in its place. If its hash is another one, it is removed instead.
   *
   * @returns the hash found
   */
  finish(): string {
    const path = this.target + PART_ENDING;
    const found = this.hash.digest("hex");
    this.file.syncSync();
    this[Symbol.dispose]();
    if (found === this.wanted.checksum.hex) Deno.renameSync(path, this.target);
    else removeIfPresent(path);
    return found;
  }

  [Symbol.dispose](): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.file.close();
    if (this.arrived === 0 && this.wanted.size > 0) removeIfPresent(this.target + PART_ENDING);
  }
}

/** Bytes that an earlier call left of a file that will be at `target`. */
export function partSize(target: string): number {
  const path = target + PART_ENDING;
  return exists(path) ? Deno.statSync(path).size : 0;
}
