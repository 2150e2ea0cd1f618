/** How a log that another process writes has grown, or was cut back, since it was last looked at. */

/** How far a log was read. */
export interface Position {
  /** Bytes, up to the end of a line. */
  readonly offset: number;
  /** The bytes before it: where they are others, the log was cut back and has grown anew. */
  readonly mark: Uint8Array;
}

/** A whole line, without its end. */
export interface GrownLine {
  readonly text: string;
  /** Its first byte's place in the file. */
  readonly begin: number;
}

/** What became of a log. */
export type Growth =
  | { readonly kind: "none" }
  /** So many bytes of what was read are there still; they end with a line. */
  | { readonly kind: "cut"; readonly position: Position }
  | {
    readonly kind: "grown";
    readonly lines: readonly GrownLine[];
    readonly position: Position;
    /** Whether there is more to be read. */
    readonly isMore: boolean;
  };

export const START: Position = { offset: 0, mark: new Uint8Array() };

const MARK_BYTES = 256;
/** Read at once; a longer line is read whole. */
const PART_BYTES = 1 << 20;

/**
 * Looks at a log; one that is not there is empty.
 *
 * @throws Error when it is something other than a file
 */
export function readGrowth(path: string, { offset, mark }: Position): Growth {
  let file: Deno.FsFile;
  try {
    // To open a pipe waits for who writes.
    if (!Deno.statSync(path).isFile) throw new Error(`${path} is no file`);
    file = Deno.openSync(path, { read: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return offset === 0 ? { kind: "none" } : { kind: "cut", position: START };
  }
  using log = file;
  const { size } = log.statSync();
  if (size < offset) return { kind: "cut", position: positionAt(log, lastLineEnd(log, size)) };
  const before = readAt(log, offset - mark.length, mark.length);
  if (!isSame(before, mark)) return { kind: "cut", position: START };
  for (let bytes = PART_BYTES;; bytes *= 4) {
    const part = readAt(log, offset, Math.min(bytes, size - offset));
    const whole = part.subarray(0, part.lastIndexOf(0x0a) + 1);
    if (whole.length === 0 && offset + part.length < size) continue;
    if (whole.length === 0) return { kind: "none" };
    const end = offset + whole.length;
    const isMore = offset + part.length < size;
    return { kind: "grown", lines: linesOf(whole, offset), position: positionAt(log, end), isMore };
  }
}

/** A position at the end of a line that was read. */
export function positionAt(log: Deno.FsFile, offset: number): Position {
  const bytes = Math.min(MARK_BYTES, offset);
  return { offset, mark: readAt(log, offset - bytes, bytes) };
}

function lastLineEnd(log: Deno.FsFile, size: number): number {
  for (let bytes = PART_BYTES;; bytes *= 4) {
    const begin = Math.max(0, size - bytes);
    const end = readAt(log, begin, size - begin).lastIndexOf(0x0a);
    if (end >= 0) return begin + end + 1;
    if (begin === 0) return 0;
  }
}

/** Bytes of a file from a place on; fewer where it ends before. */
export function readAt(file: Deno.FsFile, begin: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  file.seekSync(begin, Deno.SeekMode.Start);
  let read = 0;
  while (read < length) {
    const count = file.readSync(bytes.subarray(read));
    if (count === null) break; // cut back meanwhile, which is noticed next time
    read += count;
  }
  return bytes.subarray(0, read);
}

function linesOf(bytes: Uint8Array, offset: number): GrownLine[] {
  const decoder = new TextDecoder();
  const lines: GrownLine[] = [];
  for (let begin = 0; begin < bytes.length;) {
    const end = bytes.indexOf(0x0a, begin);
    lines.push({ text: decoder.decode(bytes.subarray(begin, end)), begin: offset + begin });
    begin = end + 1;
  }
  return lines;
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
