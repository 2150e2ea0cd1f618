/** Safetensors files as tensors in memory, for files that are small. */

import type { SafetensorsType } from "../../src/model/weights/number_formats.ts";
import type { FileContent } from "../../src/model/weights/file_content.ts";
import {
  encodeSafetensors,
  SafetensorsFile,
  type TensorStream,
} from "../../src/model/weights/safetensors.ts";

/** One tensor in memory: row-major `data` of the product of `shape` elements. */
export interface Tensor {
  readonly dtype: SafetensorsType;
  readonly shape: readonly number[];
  readonly data: TensorData;
}

/** All tensors of a file. */
export function readTensors(path: string): Record<string, Tensor> {
  using file = SafetensorsFile.open(path);
  return Object.fromEntries(
    [...file.entries].map(([name, { dtype, shape, begin, end }]) => {
      const { buffer } = file.readBytes(name, 0, end - begin);
      return [name, { dtype, shape, data: viewAs(dtype, buffer) }];
    }),
  );
}

/** A tensor as it is written, in pieces of `most` bytes. */
export function streamOf(
  { dtype, shape, data }: Tensor,
  most = data.byteLength || 1,
): TensorStream {
  return {
    dtype,
    shape,
    async *pieces() {
      for (let at = 0; at < data.byteLength; at += most) {
        const bytes = Math.min(most, data.byteLength - at);
        yield new Uint8Array(data.buffer, data.byteOffset + at, bytes);
      }
    },
  };
}

/** A file's bytes. */
export async function bytesOf(content: FileContent): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(content.bytes);
  let at = 0;
  for await (const piece of content.pieces()) {
    bytes.set(piece, at);
    at += piece.length;
  }
  if (at !== bytes.length) throw new Error(`${at} bytes instead of ${bytes.length}`);
  return bytes;
}

/** Tensors as the bytes of a file. */
export async function encoded(
  tensors: Readonly<Record<string, Tensor>>,
  metadata?: Readonly<Record<string, string>>,
): Promise<Uint8Array<ArrayBuffer>> {
  const streams = Object.entries(tensors).map(([name, tensor]) => [name, streamOf(tensor)]);
  return await bytesOf(encodeSafetensors(Object.fromEntries(streams), metadata));
}

/** Typed arrays that hold tensor data; F16 and BF16 are held as their 16-bit patterns. */
export type TensorData =
  | Float64Array<ArrayBuffer>
  | Float32Array<ArrayBuffer>
  | BigInt64Array<ArrayBuffer>
  | BigUint64Array<ArrayBuffer>
  | Int32Array<ArrayBuffer>
  | Uint32Array<ArrayBuffer>
  | Int16Array<ArrayBuffer>
  | Uint16Array<ArrayBuffer>
  | Int8Array<ArrayBuffer>
  | Uint8Array<ArrayBuffer>;

/** Views the bytes of `buffer` as elements of `dtype`; the buffer must be a whole number of them. */
function viewAs(dtype: SafetensorsType, buffer: ArrayBuffer): TensorData {
  switch (dtype) {
    case "F64":
      return new Float64Array(buffer);
    case "I64":
      return new BigInt64Array(buffer);
    case "U64":
      return new BigUint64Array(buffer);
    case "F32":
      return new Float32Array(buffer);
    case "I32":
      return new Int32Array(buffer);
    case "U32":
      return new Uint32Array(buffer);
    case "I16":
      return new Int16Array(buffer);
    case "F16":
    case "BF16":
    case "U16":
      return new Uint16Array(buffer);
    case "I8":
      return new Int8Array(buffer);
    case "U8":
    case "BOOL":
      return new Uint8Array(buffer);
  }
}
