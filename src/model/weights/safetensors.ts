/**
 * Reading and writing safetensors files (https://github.com/huggingface/safetensors): an 8-byte
 * little-endian header length, a JSON header, then the tensors' bytes.
 */

import { UserError } from "../../base/user_error.ts";
import { type OpenFile, SeekMode } from "../../platform/system/files.ts";
import type { FileContent } from "./file_content.ts";
import { openForReading, readExactly, readInto } from "./file_reading.ts";
import { BYTES_PER_ELEMENT, type SafetensorsType } from "./number_formats.ts";
import {
  encodeHeader,
  parseHeader,
  readHeaderLength,
  type SafetensorsHeader,
  type TensorEntry,
} from "./safetensors_header.ts";

export type { TensorEntry } from "./safetensors_header.ts";

/** A tensor to be written, whose row-major elements come in pieces. */
export interface TensorStream {
  readonly dtype: SafetensorsType;
  readonly shape: readonly number[];
  /** Begins anew with each call; a piece may be overwritten once the next is asked for. */
  pieces(): AsyncIterable<ArrayBufferView>;
}

/**
 * Lays tensors out as a safetensors file. Wider elements come first and equal ones by name: each tensor is
 * then aligned in the file, and the same tensors always give the same bytes.
 */
export function encodeSafetensors(
  tensors: Readonly<Record<string, TensorStream>>,
  metadata: Readonly<Record<string, string>> = {},
): FileContent {
  const named = Object.entries(tensors).sort(([nameA, a], [nameB, b]) =>
    BYTES_PER_ELEMENT[b.dtype] - BYTES_PER_ELEMENT[a.dtype] || (nameA < nameB ? -1 : 1)
  );
  const entries = new Map<string, TensorEntry>();
  let position = 0;
  for (const [name, { dtype, shape }] of named) {
    const bytes = shape.reduce((product, size) => product * size, 1) * BYTES_PER_ELEMENT[dtype];
    entries.set(name, { dtype, shape, begin: position, end: position + bytes });
    position += bytes;
  }
  const header = encodeHeader({ entries, metadata });
  return {
    bytes: header.length + position,
    async *pieces() {
      yield header;
      for (const [name, { begin, end }] of entries) {
        let missing = end - begin;
        for await (const { buffer, byteOffset, byteLength } of tensors[name].pieces()) {
          missing -= byteLength;
          yield new Uint8Array(buffer, byteOffset, byteLength);
        }
        if (missing !== 0) throw new Error(`tensor "${name}": ${missing} bytes are missing`);
      }
    },
  };
}

/** Some bytes of a tensor. */
export interface TensorPiece {
  readonly name: string;
  /** The first byte, counted in the tensor. */
  readonly begin: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Takes the next bytes of a file's tensors, which come in the file's order. */
export type PieceReceiver = (piece: TensorPiece) => Promise<void>;

/** A safetensors file on disk, whose tensors are read one at a time. Close it with `using`. */
export class SafetensorsFile implements Disposable {
  private constructor(
    readonly path: string,
    private readonly file: OpenFile,
    /** The bytes before the first tensor's. */
    readonly head: Uint8Array<ArrayBuffer>,
    private readonly header: SafetensorsHeader,
  ) {}

  /**
   * Opens a file and checks its header.
   *
   * @throws UserError when the file is missing, unreadable or not a sound safetensors file
   */
  static open(path: string): SafetensorsFile {
    const file = openForReading(path);
    try {
      const size = file.statSync().size;
      const headerLength = readHeaderLength(readExactly(file, Math.min(8, size), path), size, path);
      file.seekSync(0, SeekMode.Start);
      const head = readExactly(file, 8 + headerLength, path);
      const header = parseHeader(head.subarray(8), size - head.length, path);
      return new SafetensorsFile(path, file, head, header);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** The tensors' names, in the file's byte order. */
  get names(): string[] {
    return [...this.header.entries.keys()];
  }

  /** Dtype, shape and place of every tensor, in the file's byte order. */
  get entries(): ReadonlyMap<string, TensorEntry> {
    return this.header.entries;
  }

  /**
   * Dtype, shape and place of a tensor.
   *
   * @throws UserError when the file has no tensor of that name
   */
  entry(name: string): TensorEntry {
    const entry = this.header.entries.get(name);
    if (entry === undefined) {
      throw new UserError(
        `${this.path} has no tensor "${name}"; it holds ${this.names.length} others, such as ` +
          `"${this.names[0] ?? ""}". Is this the right file for the model?`,
      );
    }
    return entry;
  }

  /**
   * Reads some bytes of a tensor.
   *
   * @param begin first byte, counted in the tensor
   * @throws UserError when the file has no such tensor or ends early
   */
  readBytes(name: string, begin: number, bytes: number): Uint8Array<ArrayBuffer> {
    const entry = this.entry(name);
    this.file.seekSync(this.head.length + entry.begin + begin, SeekMode.Start);
    return readExactly(this.file, bytes, this.path);
  }

  /**
   * Reads all tensors once, in the file's byte order.
   *
   * @param most bytes of a piece; its content holds until the next one is asked for
   * @throws UserError when the file ends early
   */
  *pieces(most: number): Generator<TensorPiece> {
    const buffer = new Uint8Array(Math.min(most, Math.max(0, ...this.#sizes())));
    for (const [name, { begin: start, end }] of this.header.entries) {
      for (let begin = 0; begin < end - start; begin += most) {
        const bytes = buffer.subarray(0, Math.min(most, end - start - begin));
        this.file.seekSync(this.head.length + start + begin, SeekMode.Start);
        readInto(this.file, bytes, this.path);
        yield { name, begin, bytes };
      }
    }
  }

  *#sizes(): Generator<number> {
    for (const { begin, end } of this.header.entries.values()) yield end - begin;
  }

  /** Closes the file. */
  close(): void {
    this.file.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
