import { type DataType, type HostArray, isQuantised } from "../../gpu/tensor.ts";

/** f32 values → IEEE 754 binary16 bit patterns, rounded to nearest even. */
export function float32ToFloat16(values: Float32Array): Uint16Array<ArrayBuffer> {
  return new Uint16Array(new Float16Array(values).buffer);
}

/** f32 values → bfloat16 bit patterns, rounded to nearest even; NaN stays NaN. */
export function float32ToBfloat16(values: Float32Array): Uint16Array<ArrayBuffer> {
  const patterns = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const bits = new Uint16Array(values.length);
  for (let i = 0; i < values.length; i++) {
    const pattern = patterns[i];
    const isNaN = (pattern & 0x7fffffff) > 0x7f800000;
    bits[i] = isNaN ? 0x7fc0 : (pattern + 0x7fff + ((pattern >>> 16) & 1)) >>> 16;
  }
  return bits;
}

/** bfloat16 bit patterns → the f32 values they stand for. */
export function bfloat16ToFloat32(patterns: Uint16Array): Float32Array<ArrayBuffer> {
  return new Float32Array(Uint32Array.from(patterns, (half) => half << 16).buffer);
}

/**
 * f32 values → the form they have in GPU memory of a type.
 *
 * @throws Error for quantised blocks, which come from files alone
 */
export function toStorage(values: Float32Array, dtype: DataType): HostArray {
  if (isQuantised(dtype)) throw new Error(`weights in ${dtype} cannot be set`);
  if (dtype === "f16") return float32ToFloat16(values);
  return dtype === "bf16" ? float32ToBfloat16(values) : values;
}

/** Data read from GPU memory of a type → f32 values. */
export function fromStorage(data: HostArray, dtype: DataType): Float32Array {
  if (data instanceof Float32Array) return data;
  if (!(data instanceof Uint16Array)) throw new Error(`${dtype} holds no weights`);
  return dtype === "f16"
    ? new Float32Array(new Float16Array(data.slice().buffer))
    : bfloat16ToFloat32(data);
}
