import { type OpenFile, openSync } from "../system/files.ts";

/** Bytes that are read at a time. */
const PIECE = 1 << 20;

/**
 * The whole lines of a text file, without their ends, one after another: memory holds one of them, however long the file
 * is. What comes after the last line end is left out, as a crash may have cut it short.
 */
export function* linesOf(path: string): Generator<string> {
  using file = openSync(path);
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(PIECE);
  let begun = "";
  for (let read = file.readSync(buffer); read !== null; read = file.readSync(buffer)) {
    const lines = (begun + decoder.decode(buffer.subarray(0, read), { stream: true })).split("\n");
    begun = lines[lines.length - 1];
    yield* lines.slice(0, -1);
  }
}

/** The number of the first line, from 1, in which two files are not the same; null where none is. */
export function firstDifferentLine(a: string, b: string): number | null {
  using first = openSync(a);
  using second = openSync(b);
  const [one, other] = [new Uint8Array(PIECE), new Uint8Array(PIECE)];
  let line = 1;
  while (true) {
    const [length, otherLength] = [readWhole(first, one), readWhole(second, other)];
    for (let i = 0; i < Math.min(length, otherLength); i++) {
      if (one[i] !== other[i]) return line;
      if (one[i] === NEW_LINE) line++;
    }
    if (length !== otherLength) return line;
    if (length === 0) return null;
  }
}

const NEW_LINE = 0x0a;

/** Fills a buffer, unless the file ends before. @returns bytes read */
function readWhole(file: OpenFile, buffer: Uint8Array): number {
  let length = 0;
  while (length < buffer.length) {
    const read = file.readSync(buffer.subarray(length));
    if (read === null) break;
    length += read;
  }
  return length;
}
