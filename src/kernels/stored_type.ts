import type { QuantisedType } from "../gpu/tensor.ts";

/**
 * How weight files store the elements of a tensor: blocks of some elements in some bytes. Those from Q4_0
 * on are the quantised blocks of GGUF files (ggml's block_q4_0 and so on).
 */
export const storedTypes = {
  F32: { elements: 1, bytes: 4 },
  F16: { elements: 1, bytes: 2 },
  BF16: { elements: 1, bytes: 2 },
  Q4_0: { elements: 32, bytes: 18 },
  Q4_1: { elements: 32, bytes: 20 },
  Q5_0: { elements: 32, bytes: 22 },
  Q5_1: { elements: 32, bytes: 24 },
  Q8_0: { elements: 32, bytes: 34 },
  Q4_K: { elements: 256, bytes: 144 },
  Q5_K: { elements: 256, bytes: 176 },
  Q6_K: { elements: 256, bytes: 210 },
} as const;

/** A type that weights may have in a file. */
export type StoredType = keyof typeof storedTypes;

/** A type of quantised blocks. */
export type QuantisedStoredType = Exclude<StoredType, "F32" | "F16" | "BF16">;

/** Whether a file's type is one of quantised blocks. */
export function isQuantisedStoredType(type: StoredType): type is QuantisedStoredType {
  return storedTypes[type].elements > 1;
}

/** Which types of a file the blocks in GPU memory keep without loss. */
const keptAs: Readonly<Record<QuantisedType, readonly QuantisedStoredType[]>> = {
  q4: ["Q4_0", "Q4_1"],
  q4k: ["Q4_K"],
  q8: ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"],
};

/** Whether these blocks in GPU memory keep a file's type without loss. */
export function isKeptAs(blocks: QuantisedType, type: StoredType): boolean {
  return isQuantisedStoredType(type) && keptAs[blocks].includes(type);
}

/** The smallest blocks in GPU memory that keep all of these types without loss. */
export function blocksFor(types: readonly QuantisedStoredType[]): QuantisedType {
  const kept = (blocks: QuantisedType) => types.every((type) => isKeptAs(blocks, type));
  return kept("q4") ? "q4" : kept("q4k") ? "q4k" : "q8";
}

/** Whether weights of this type can be read. */
export function isStoredType(name: string): name is StoredType {
  return Object.hasOwn(storedTypes, name);
}

/** Bytes of `elements` elements, a whole number of blocks. */
export function storedBytes(type: StoredType, elements: number): number {
  const block = storedTypes[type];
  return elements / block.elements * block.bytes;
}

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

/** Whether the minimum of a block of Q4_0, -8 times its scale, is beyond f16, in which blocks of q4 hold it. */
export function overflowsBlocks(type: StoredType, bytes: Uint8Array<ArrayBuffer>): boolean {
  if (type !== "Q4_0") return false;
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
  for (let at = 0; at < halves.length; at += storedTypes.Q4_0.bytes / 2) {
    if ((halves[at] & 0x7fff) >= 0x7000) return true;
  }
  return false;
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
