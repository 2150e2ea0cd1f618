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
export type SafetensorsType = keyof typeof BYTES_PER_ELEMENT;
