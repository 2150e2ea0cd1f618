/** Writing GGUF files, version 3 (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). */

import {
  buildGgufHeader,
  GGMLQuantizationType,
  type GGUFTypedMetadata,
  GGUFValueType,
} from "@huggingface/gguf";
import { storedBytes, type StoredType } from "../../kernels/parts/stored_type.ts";
import type { FileContent } from "./file_content.ts";

/** Bytes at whose multiples tensors begin. */
const ALIGNMENT = 32;

/** A value of a header with its type. */
type Typed = GGUFTypedMetadata[string];

/** Values of a header by key. */
export type GgufValues = Readonly<Record<string, Typed>>;

/** Makes the values of a header. */
export const ggufValue = {
  text: (value: string): Typed => ({ value, type: GGUFValueType.STRING }),
  whole: (value: number): Typed => ({ value, type: GGUFValueType.UINT32 }),
  real: (value: number): Typed => ({ value, type: GGUFValueType.FLOAT32 }),
  flag: (value: boolean): Typed => ({ value, type: GGUFValueType.BOOL }),
  texts: (value: readonly string[]): Typed => list(value, GGUFValueType.STRING),
  wholes: (value: readonly number[]): Typed => list(value, GGUFValueType.INT32),
  reals: (value: readonly number[]): Typed => list(value, GGUFValueType.FLOAT32),
};

function list(values: readonly (string | number)[], subType: GGUFValueType): Typed {
  return { value: [...values], type: GGUFValueType.ARRAY, subType };
}

/** A tensor to be written. */
export interface GgufTensorStream {
  readonly name: string;
  readonly type: StoredType;
  /** Outermost dimension first. */
  readonly shape: readonly number[];
  /** Its bytes in order; begins anew with each call. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** Lays tensors out as a GGUF file, in their order. */
export async function encodeGguf(
  values: GgufValues,
  tensors: readonly GgufTensorStream[],
): Promise<FileContent> {
  const sizes = tensors.map(({ type, shape }) =>
    storedBytes(type, shape.reduce((product, size) => product * size, 1))
  );
  const infos: Uint8Array<ArrayBuffer>[] = [];
  let position = 0;
  tensors.forEach(({ name, type, shape }, i) => {
    infos.push(tensorInfo(name, shape, GGMLQuantizationType[type], position));
    position += padded(sizes[i]);
  });
  const table = new Blob(infos);
  const header = await buildGgufHeader(
    table,
    {
      version: { value: 3, type: GGUFValueType.UINT32 },
      tensor_count: { value: BigInt(tensors.length), type: GGUFValueType.UINT64 },
      kv_count: { value: BigInt(Object.keys(values).length), type: GGUFValueType.UINT64 },
      ...values,
    },
    { littleEndian: true, tensorInfoByteRange: [0, table.size], alignment: ALIGNMENT },
  );
  return {
    bytes: header.size + position,
    async *pieces() {
      yield new Uint8Array(await header.arrayBuffer());
      for (const [i, tensor] of tensors.entries()) {
        let missing = sizes[i];
        for await (const piece of tensor.pieces()) {
          missing -= piece.length;
          yield piece;
        }
        if (missing !== 0) throw new Error(`tensor "${tensor.name}": ${missing} bytes are missing`);
        yield new Uint8Array(padded(sizes[i]) - sizes[i]);
      }
    },
  };
}

const padded = (bytes: number) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

/** What the header says of a tensor: its name, its shape from the innermost dimension on, type and place. */
function tensorInfo(
  name: string,
  shape: readonly number[],
  type: number,
  offset: number,
): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(name);
  const bytes = new Uint8Array(8 + text.length + 4 + shape.length * 8 + 4 + 8);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  let at = 8 + text.length;
  view.setUint32(at, shape.length, true);
  at += 4;
  for (const size of shape.toReversed()) {
    view.setBigUint64(at, BigInt(size), true);
    at += 8;
  }
  view.setUint32(at, type, true);
  view.setBigUint64(at + 4, BigInt(offset), true);
  return bytes;
}
