import { type StoredType, storedTypes } from "./stored_type.ts";

/** Where a quantised block has its f16 scales, in bytes. */
const scaleOffsets: Partial<Record<StoredType, readonly number[]>> = {
  Q4_0: [0],
  Q4_1: [0, 2],
  Q5_0: [0],
  Q5_1: [0, 2],
  Q8_0: [0],
  Q4_K: [0, 2],
  Q5_K: [0, 2],
  Q6_K: [208],
};

/** Whether any element of whole blocks is NaN or infinite. */
export function holdsNonFinite(type: StoredType, bytes: Uint8Array<ArrayBuffer>): boolean {
  const { buffer, byteOffset, byteLength } = bytes;
  if (type === "F32") {
    return anyHas(new Uint32Array(buffer, byteOffset, byteLength / 4), 0x7f800000, 0, 1);
  }
  const halves = new Uint16Array(buffer, byteOffset, byteLength / 2);
  if (type === "F16") return anyHas(halves, 0x7c00, 0, 1);
  if (type === "BF16") return anyHas(halves, 0x7f80, 0, 1);
  const step = storedTypes[type].bytes / 2;
  return (scaleOffsets[type] ?? []).some((offset) => anyHas(halves, 0x7c00, offset / 2, step));
}

/** Whether any of the patterns from `first` on, `step` apart, has all bits of the exponent. */
function anyHas(
  patterns: Uint32Array | Uint16Array,
  exponent: number,
  first: number,
  step: number,
): boolean {
  for (let at = first; at < patterns.length; at += step) {
    if ((patterns[at] & exponent) === exponent) return true;
  }
  return false;
}
