import type { StoredType } from "../../kernels/stored_type.ts";
import type { Block, WeightStorage } from "../decoder/layout.ts";
import type { WeightFile } from "./weight_file.ts";

const exact: Partial<Record<StoredType, WeightStorage>> = { F32: "f32", F16: "f16", BF16: "bf16" };

/**
 * The smallest storage that keeps a file's matrices as they are: f16 or bf16 when all of them are that,
 * else f32. Quantised matrices count as f16, which rounds what their blocks stand for by at most 2⁻¹¹ of it.
 */
export function storageOf(file: WeightFile, blocks: readonly Block[]): WeightStorage {
  const found = new Set<WeightStorage>();
  for (const { shape, parts } of blocks) {
    if (shape.length < 2) continue;
    for (const { name } of parts) {
      const type = file.tensors.get(name)?.type;
      if (type !== undefined) found.add(exact[type] ?? "f16");
    }
  }
  const [only = "f32", ...others] = found;
  return others.length === 0 ? only : "f32";
}
