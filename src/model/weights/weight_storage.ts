import { type MatrixType } from "../../gpu/tensor.ts";
import type { Tuning } from "../../gpu/tuning.ts";
import { UserError } from "../../base/user_error.ts";
import { wholeElements } from "../../kernels/products/unpack.ts";
import { blocksFor } from "../../kernels/products/kept_blocks.ts";
import { isQuantisedStoredType, type StoredType } from "../../kernels/parts/stored_type.ts";
import type { Block, WeightStorage } from "../decoder/layout.ts";
import type { WeightFile } from "./weight_file.ts";

/**
 * The storage asked for frozen matrices: one type for all; `quantised`, blocks of 4 and 8 bits that keep the
 * file's without loss; `auto`, as the file has them where that is not slower than f16.
 */
export type FrozenStorage = "auto" | "quantised" | "f32" | "f16" | "bf16";

const exact: Partial<Record<StoredType, MatrixType>> = { F32: "f32", F16: "f16", BF16: "bf16" };

/** How the matrices of a file lie in memory while they are frozen, by what is asked. */
export function frozenStorageOf(
  tuning: Tuning,
  asked: FrozenStorage,
  file: WeightFile,
  blocks: readonly Block[],
): WeightStorage {
  if (asked === "quantised") return quantisedStorage(file, blocks);
  if (asked !== "auto") return asked;
  const takesBlocks = tuning.lanes === "gpu" && hasQuantised(file, blocks);
  return takesBlocks ? quantisedStorage(file, blocks) : wholeStorage(file, blocks);
}

/**
 * The smallest storage that keeps a file's matrices as they are: f16 or bf16 when all of them are that,
 * else f32. Quantised matrices count as f16, which rounds what their blocks stand for by at most 2⁻¹¹ of it.
 */
function wholeStorage(file: WeightFile, blocks: readonly Block[]): MatrixType {
  const found = new Set(typesOf(file, matrices(blocks)).map((type) => exact[type] ?? "f16"));
  const [only = "f32", ...others] = found;
  return others.length === 0 ? only : "f32";
}

/**
 * Storage without loss, as small as a block of tensors that lie alike allows. Matrices that the file does not quantise
 * stay as they are.
 *
 * @throws UserError when the file quantises none
 */
function quantisedStorage(file: WeightFile, blocks: readonly Block[]): WeightStorage {
  if (!hasQuantised(file, blocks)) {
    throw new UserError(
      `${file.path} holds no quantised weights: frozen_dtype quantised is for GGUF files with types such as Q4_0 and ` +
        `Q4_K. Leave it out to keep weights as the file has them.`,
    );
  }
  const storages = new Map<string, MatrixType>();
  for (const block of matrices(blocks)) {
    const types = typesOf(file, [block]);
    const quantised = types.filter(isQuantisedStoredType);
    const storage = quantised.length === 0
      ? wholeStorage(file, [block])
      : quantised.length === types.length && movesWhole(file, block, blocksFor(quantised))
      ? blocksFor(quantised)
      : "f32";
    for (const { name } of block.tensors) storages.set(name, storage);
  }
  return (tensor) => storages.get(tensor) ?? "f32";
}

/** Whether columns that a file has in another order are moved by whole blocks in memory. */
function movesWhole(file: WeightFile, { tensors }: Block, blocks: MatrixType): boolean {
  return tensors.every(({ name }) =>
    (file.tensors.get(name)?.columnHeads?.each ?? 0) % wholeElements(blocks) === 0
  );
}

function hasQuantised(file: WeightFile, blocks: readonly Block[]): boolean {
  return typesOf(file, matrices(blocks)).some(isQuantisedStoredType);
}

const matrices = (blocks: readonly Block[]) => blocks.filter(({ shape }) => shape.length > 1);

function typesOf(file: WeightFile, blocks: readonly Block[]): StoredType[] {
  const names = blocks.flatMap(({ tensors }) => tensors.map(({ name }) => name));
  return names.flatMap((name) => file.tensors.get(name)?.type ?? []);
}
