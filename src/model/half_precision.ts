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
