import { openFile } from "../system/files.ts";
import { createHash } from "../system/hash.ts";
import { fileMark } from "./file_mark.ts";

/** Numbers as they lie in memory: little-endian on every machine that Deno runs on. */
type Numbers = Uint8Array | Uint32Array | Float32Array;

/** SHA-256 of things one after another. What one thing ends with, the next cannot begin with: each is told with its length. */
export class Digest {
  readonly #hash = createHash("sha256");

  /** Adds a text. */
  text(text: string): this {
    return this.#add("t", new TextEncoder().encode(text));
  }

  /** Adds the bytes of some numbers. */
  numbers(numbers: Numbers): this {
    const { buffer, byteOffset, byteLength } = numbers;
    return this.#add("n", new Uint8Array(buffer, byteOffset, byteLength));
  }

  /** Adds what JSON makes of a value; the order of keys counts. */
  value(value: unknown): this {
    return this.text(JSON.stringify(value));
  }

  /** The digest of all that was added, 64 hexadecimal digits; nothing can be added any more. */
  hex(): string {
    return this.#hash.digest("hex");
  }

  #add(kind: string, bytes: Uint8Array): this {
    this.#hash.update(`${kind}${bytes.length}:`);
    this.#hash.update(bytes);
    return this;
  }
}

/** Digests of files by path, with the mark that each had. */
const known = new Map<string, { readonly mark: string | null; readonly digest: string }>();

/** SHA-256 of a file's bytes, as `sha256sum` prints it; read again only where the file was written since. */
export async function digestOfFile(path: string): Promise<string> {
  const mark = fileMark(path);
  const earlier = known.get(path);
  if (earlier && mark !== null && earlier.mark === mark) return earlier.digest;
  const digest = await digestOfBytes(path);
  known.set(path, { mark, digest });
  return digest;
}

async function digestOfBytes(path: string): Promise<string> {
  using file = await openFile(path);
  const hash = createHash("sha256");
  const buffer = new Uint8Array(1 << 20);
  for (let read = await file.read(buffer); read !== null; read = await file.read(buffer)) {
    hash.update(buffer.subarray(0, read));
  }
  return hash.digest("hex");
}
