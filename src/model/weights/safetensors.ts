/**
 * Reading and writing safetensors files (https://github.com/huggingface/safetensors): an 8-byte
 * little-endian header length, a JSON header, then the tensors' bytes.
 */

import { UserError } from "../../base/user_error.ts";
import { openForReading, readExactly } from "./file_reading.ts";
import { BYTES_PER_ELEMENT, type DataType, type TensorData, viewAs } from "./number_formats.ts";
import {
  encodeHeader,
  parseHeader,
  readHeaderLength,
  type SafetensorsHeader,
  type TensorEntry,
} from "./safetensors_header.ts";

export type { TensorEntry } from "./safetensors_header.ts";

/** One tensor in memory: row-major `data` of the product of `shape` elements. */
export interface Tensor {
  readonly dtype: DataType;
  readonly shape: readonly number[];
  readonly data: TensorData;
}

/**
 * Encodes tensors as the consecutive pieces of a safetensors file, without copying their data, so that
 * files larger than one buffer can be written. Wider elements come first and equal ones by name: each
 * tensor is then aligned in the file, and the same tensors always give the same bytes.
 *
 * @throws Error when a tensor's data does not have its shape's number of elements
 */
export function encodeSafetensors(
  tensors: Readonly<Record<string, Tensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Uint8Array<ArrayBuffer>[] {
  const named = Object.entries(tensors).sort(([nameA, a], [nameB, b]) =>
    BYTES_PER_ELEMENT[b.dtype] - BYTES_PER_ELEMENT[a.dtype] || (nameA < nameB ? -1 : 1)
  );
  const entries = new Map<string, TensorEntry>();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let position = 0;
  for (const [name, { dtype, shape, data }] of named) {
    const bytes = shape.reduce((product, size) => product * size, 1) * BYTES_PER_ELEMENT[dtype];
    if (bytes !== data.byteLength) {
      throw new Error(
        `tensor "${name}" of shape [${
          shape.join(", ")
        }] and dtype ${dtype} needs ${bytes} bytes; ` +
          `its data has ${data.byteLength}`,
      );
    }
    entries.set(name, { dtype, shape, begin: position, end: position + bytes });
    pieces.push(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    position += bytes;
  }
  return [encodeHeader({ entries, metadata }), ...pieces];
}

/**
 * Decodes a whole safetensors file held in memory; every tensor gets its own copy of its data.
 *
 * @param file what to call the file in error messages
 * @throws UserError when the bytes are not a sound safetensors file
 */
export function decodeSafetensors(
  bytes: Uint8Array<ArrayBuffer>,
  file: string,
): { tensors: Record<string, Tensor>; metadata: Readonly<Record<string, string>> } {
  const headerLength = readHeaderLength(bytes, bytes.length, file);
  const data = bytes.subarray(8 + headerLength);
  const header = parseHeader(bytes.subarray(8, 8 + headerLength), data.length, file);
  const tensors: Record<string, Tensor> = {};
  for (const [name, { dtype, shape, begin, end }] of header.entries) {
    tensors[name] = { dtype, shape, data: viewAs(dtype, data.slice(begin, end).buffer) };
  }
  return { tensors, metadata: header.metadata };
}

/** A safetensors file on disk, whose tensors are read one at a time. Close it with `using`. */
export class SafetensorsFile implements Disposable {
  private constructor(
    readonly path: string,
    private readonly file: Deno.FsFile,
    private readonly dataStart: number,
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
      const dataStart = 8 + headerLength;
      const header = parseHeader(readExactly(file, headerLength, path), size - dataStart, path);
      return new SafetensorsFile(path, file, dataStart, header);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** The tensors' names, in the file's byte order. */
  get names(): string[] {
    return [...this.header.entries.keys()];
  }

  /** The free-form metadata of the header. */
  get metadata(): Readonly<Record<string, string>> {
    return this.header.metadata;
  }

  /** Whether the file holds a tensor of this name. */
  has(name: string): boolean {
    return this.header.entries.has(name);
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
   * Reads a tensor in its stored dtype.
   *
   * @throws UserError when the file has no such tensor or ends early
   */
  read(name: string): Tensor {
    const { dtype, shape, begin, end } = this.entry(name);
    this.file.seekSync(this.dataStart + begin, Deno.SeekMode.Start);
    return {
      dtype,
      shape,
      data: viewAs(dtype, readExactly(this.file, end - begin, this.path).buffer),
    };
  }

  /**
   * Reads some bytes of a tensor.
   *
   * @param begin first byte, counted in the tensor
   * @throws UserError when the file has no such tensor or ends early
   */
  readBytes(name: string, begin: number, bytes: number): Uint8Array<ArrayBuffer> {
    const entry = this.entry(name);
    this.file.seekSync(this.dataStart + entry.begin + begin, Deno.SeekMode.Start);
    return readExactly(this.file, bytes, this.path);
  }

  /** Closes the file. */
  close(): void {
    this.file.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
