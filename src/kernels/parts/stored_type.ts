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

/** Whether weights of this type can be read. */
export function isStoredType(name: string): name is StoredType {
  return Object.hasOwn(storedTypes, name);
}

/** Bytes of `elements` elements, a whole number of blocks. */
export function storedBytes(type: StoredType, elements: number): number {
  const block = storedTypes[type];
  return elements / block.elements * block.bytes;
}
