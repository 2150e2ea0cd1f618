/**
 * The storage formats of safetensors files, and conversion of the half-precision ones to and from
 * 32-bit floats.
 */

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

/** IEEE 754 binary16 bit patterns → f32 values (exact). */
export function float16ToFloat32(bits: Uint16Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  return new Float32Array(new Float16Array(bits.buffer, bits.byteOffset, bits.length));
}

/** f32 values → IEEE 754 binary16 bit patterns, rounded to nearest even. */
export function float32ToFloat16(values: Float32Array): Uint16Array<ArrayBuffer> {
  return new Uint16Array(new Float16Array(values).buffer);
}

/** bfloat16 bit patterns → f32 values (exact). */
export function bfloat16ToFloat32(bits: Uint16Array): Float32Array<ArrayBuffer> {
  const patterns = new Uint32Array(bits.length);
  for (let i = 0; i < bits.length; i++) patterns[i] = bits[i] << 16;
  return new Float32Array(patterns.buffer);
}

/** f32 values → bfloat16 bit patterns, rounded to nearest even; NaN stays NaN. */
export function float32ToBfloat16(values: Float32Array): Uint16Array<ArrayBuffer> {
  const patterns = new Uint32Array(Float32Array.from(values).buffer);
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const pattern = patterns[i];
    const isNaN = (pattern & 0x7fffffff) > 0x7f800000;
    bits[i] = isNaN ? 0x7fc0 : (pattern + 0x7fff + ((pattern >>> 16) & 1)) >>> 16;
  }
  return bits;
}
