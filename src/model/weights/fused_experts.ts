/** Files that have the matrices of all experts of a layer in one tensor, and gate and up in one too. */

import { storedBytes } from "../../kernels/parts/stored_type.ts";
import { mostExperts } from "../decoder/config.ts";
import type { StoredTensor, WeightFile } from "./weight_file.ts";

/** What lies in a fused tensor for each expert, in order. */
const fused: Readonly<Record<string, readonly string[]>> = {
  gate_up_proj: ["gate_proj", "up_proj"],
  down_proj: ["down_proj"],
};

/** A matrix in a fused tensor. */
interface Place {
  readonly name: string;
  /** Its first element there. */
  readonly first: number;
}

/**
 * A file with the matrices of experts one by one, by the names that they have in others: `experts.gate_up_proj` [E, 2·I, C]
 * and `experts.down_proj` [E, C, I] are taken apart. Tensors of other shapes stay, and belong to no model.
 */
export function withSplitExperts(file: WeightFile): WeightFile {
  const tensors = new Map<string, StoredTensor>(), places = new Map<string, Place>();
  for (const [name, tensor] of file.tensors) {
    const match = /^(.+\.experts)\.(gate_up_proj|down_proj)$/.exec(name);
    const { shape: [count, rows, columns], ...stored } = tensor;
    const parts = match ? fused[match[2]] : [];
    if (!match || tensor.shape.length !== 3 || count > mostExperts || rows % parts.length !== 0) {
      tensors.set(name, tensor);
      continue;
    }
    const shape = [rows / parts.length, columns], size = shape[0] * shape[1];
    for (let expert = 0; expert < count; expert++) {
      parts.forEach((part, i) => {
        const own = `${match[1]}.${expert}.${part}.weight`;
        tensors.set(own, { ...stored, shape });
        places.set(own, { name, first: (expert * parts.length + i) * size });
      });
    }
  }
  return {
    path: file.path,
    tensors,
    read(name, begin, bytes) {
      const place = places.get(name), tensor = tensors.get(name);
      if (!place || !tensor) return file.read(name, begin, bytes);
      return file.read(place.name, storedBytes(tensor.type, place.first) + begin, bytes);
    },
    [Symbol.dispose]: () => file[Symbol.dispose](),
  };
}
