/**
 * Kernels on matrix units for a GPU whose matrices no driver here has: Dawn refuses sizes that its adapter does not
 * list, and software drivers list 8x8x8 alone. The types of the matrices are the only place where a size stands that
 * the driver must know; a kernel is translated with 8x8 in its types, and they are set right in the SPIR-V.
 */

import { UserError } from "../../src/base/user_error.ts";
import type { DeviceInfo } from "../../src/gpu/adapter.ts";
import type { KernelSource } from "../../src/gpu/kernel.ts";

const types = /(subgroup_matrix_(?:left|right|result)<\w+), [^>]*>/g;

/** Whether a kernel uses the matrix units. */
export function multipliesMatrices({ code }: KernelSource): boolean {
  return code.search(types) >= 0;
}

/** The same kernel with matrices of 8x8 in its types. */
export function withSmallMatrices(source: KernelSource): KernelSource {
  return { ...source, code: source.code.replace(types, "$1, 8, 8>") };
}

/** @throws UserError when the device does not multiply 8x8x8 f16 matrices */
export function requireSmallMatrices({ name, subgroupMatrixConfigs }: DeviceInfo): void {
  const has = subgroupMatrixConfigs.some(({ M, N, K, componentType, resultComponentType }) =>
    M === 8 && N === 8 && K === 8 && componentType === "f16" && resultComponentType === "f32"
  );
  if (has) return;
  throw new UserError(
    `${name} shows no 8x8x8 matrices of f16, with which kernels on matrix units are translated; ` +
      "Mesa's software driver does from version 26 on, and ./tango fetches one where there is no GPU",
  );
}

/** Numbers of the SPIR-V specification and of SPV_KHR_cooperative_matrix. */
const opTypeInt = 21;
const opConstant = 43;
const opTypeCooperativeMatrix = 4456;

/**
 * A module whose cooperative matrices all have `size` rows and columns.
 *
 * @throws Error when it has no cooperative matrices of whole numbers known before them
 */
export function withMatrixSize(
  words: Uint32Array<ArrayBuffer>,
  size: number,
): Uint32Array<ArrayBuffer> {
  const constant = words[3];
  const changed = [...words.subarray(0, 5)];
  changed[3]++;
  let unsigned: number | null = null;
  let isDefined = false;
  // Five words of header, then instructions: the length in the upper half of the first word.
  for (let at = 5; at < words.length; at += words[at] >>> 16) {
    const operation = words[at] & 0xffff;
    const instruction = [...words.subarray(at, at + (words[at] >>> 16))];
    const [, result, bits, isSigned] = instruction;
    if (operation === opTypeInt && bits === 32 && isSigned === 0) unsigned = result;
    if (operation === opTypeCooperativeMatrix) {
      if (unsigned === null) throw new Error("a matrix type before any type of whole numbers");
      if (!isDefined) changed.push(4 << 16 | opConstant, unsigned, constant, size);
      isDefined = true;
      const [rows, columns] = [4, 5];
      instruction[rows] = instruction[columns] = constant;
    }
    changed.push(...instruction);
  }
  if (!isDefined) throw new Error("a module without matrices");
  return new Uint32Array(changed);
}
