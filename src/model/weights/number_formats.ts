/** The storage formats of safetensors files. */

/** Bytes per element of each dtype that the safetensors format names. */
export const BYTES_PER_ELEMENT = {
  F64: 8,
  I64: 8,
  U64: 8,
  F32: 4,
  I32: 4,
  U32: 4,
  F16: 2,
  BF16: 2,
  I16: 2,
  U16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
} as const;

/** A safetensors dtype. */
export type DataType = keyof typeof BYTES_PER_ELEMENT;

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
export function viewAs(dtype: DataType, buffer: ArrayBuffer): TensorData {
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
