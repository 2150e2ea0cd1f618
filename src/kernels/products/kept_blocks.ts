import type { QuantisedType } from "../../gpu/tensor.ts";
import {
  isQuantisedStoredType,
  type QuantisedStoredType,
  type StoredType,
  storedTypes,
} from "../parts/stored_type.ts";

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

/** Whether the minimum of a block of Q4_0, -8 times its scale, is beyond f16, in which blocks of q4 hold it. */
export function overflowsBlocks(type: StoredType, bytes: Uint8Array<ArrayBuffer>): boolean {
  if (type !== "Q4_0") return false;
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
  for (let at = 0; at < halves.length; at += storedTypes.Q4_0.bytes / 2) {
    if ((halves[at] & 0x7fff) >= 0x7000) return true;
  }
  return false;
}
