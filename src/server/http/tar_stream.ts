/** Files as a tar archive (POSIX ustar, names of any length as GNU tar has them), which is written as it is read. */

const BLOCK = 512;
const LONGEST_NAME = 100;
/** More does not fit into eleven octal digits. */
const OCTAL_LIMIT = 8 ** 11;

/** A file of an archive. */
export interface ArchivedFile {
  /** In the archive. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

/** Bytes of the whole archive. */
export function tarBytes(files: readonly ArchivedFile[]): number {
  return files.reduce((sum, { name, bytes }) => sum + head(name, bytes).length + padded(bytes), 0) +
    2 * BLOCK;
}

/** The archive. A file that has another size by now fails it: whoever reads gets less than was announced. */
export function tarStream(files: readonly ArchivedFile[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(tarPieces(files));
}

async function* tarPieces(files: readonly ArchivedFile[]): AsyncGenerator<Uint8Array> {
  for (const { name, path, bytes } of files) {
    yield head(name, bytes);
    using file = await Deno.open(path, { read: true });
    if ((await file.stat()).size !== bytes) throw new Error(`${path} has changed meanwhile`);
    let left = bytes;
    while (left > 0) {
      const piece = new Uint8Array(Math.min(left, 1 << 18));
      const count = await file.read(piece);
      if (count === null) throw new Error(`${path} has changed meanwhile`);
      yield piece.subarray(0, count);
      left -= count;
    }
    yield new Uint8Array(padded(bytes) - bytes);
  }
  yield new Uint8Array(2 * BLOCK);
}

const padded = (bytes: number) => Math.ceil(bytes / BLOCK) * BLOCK;

function head(name: string, bytes: number): Uint8Array {
  const encoded = new TextEncoder().encode(name);
  if (encoded.length <= LONGEST_NAME) return block(encoded, bytes, "0");
  const long = new Uint8Array(padded(encoded.length + 1));
  long.set(encoded);
  const link = block(new TextEncoder().encode("././@LongLink"), encoded.length + 1, "L");
  const own = block(encoded.subarray(0, LONGEST_NAME), bytes, "0");
  const whole = new Uint8Array(link.length + long.length + own.length);
  whole.set(link);
  whole.set(long, link.length);
  whole.set(own, link.length + long.length);
  return whole;
}

function block(name: Uint8Array, bytes: number, type: "0" | "L"): Uint8Array {
  const made = new Uint8Array(BLOCK);
  const put = (at: number, text: string) => made.set(new TextEncoder().encode(text), at);
  made.set(name, 0);
  put(100, "0000644\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  if (bytes < OCTAL_LIMIT) put(124, `${bytes.toString(8).padStart(11, "0")}\0`);
  else {
    new DataView(made.buffer).setBigUint64(128, BigInt(bytes));
    made[124] = 0x80; // the number is binary
  }
  put(136, "00000000000\0");
  put(148, "        "); // of the sum itself, while it is taken
  put(156, type);
  put(257, "ustar\x0000");
  const sum = made.reduce((all, byte) => all + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return made;
}
