import type { Gpu } from "../../gpu/gpu.ts";
import { bytesOf, isQuantised, type Tensor } from "../../gpu/tensor.ts";
import { independentLanes } from "../../gpu/tuning.ts";
import { expectShape } from "../parts/expect_shape.ts";
import { isKeptAs } from "./kept_blocks.ts";
import {
  isQuantisedStoredType,
  storedBytes,
  type StoredType,
  storedTypes,
} from "../parts/stored_type.ts";
import { compose } from "../parts/compose.ts";
import text from "./unpack.wgsl" with { type: "text" };

const code = compose(text);

/** A run of a file's tensor, and where the tensor belongs. */
export interface PackedPiece {
  readonly type: StoredType;
  /** Elements in the piece: whole blocks, and a multiple of 4. */
  readonly elements: number;
  /** The piece's first element, counted in its tensor. */
  readonly firstElement: number;
  /** Elements of a row of the tensor, a multiple of 4. */
  readonly width: number;
  /** The tensor's first element in the target. */
  readonly targetStart: number;
  /**
   * D when rows 2·b and 2·b + 1 of each head are to become rows b and D/2 + b: GGUF files of the Llama
   * family pair the rows that are rotated together. 0 leaves the rows in their order.
   */
  readonly interleavedHead: number;
  /**
   * Groups of `each` columns that are to be moved: group r·keyHeads + k to k·perKey + r. GGUF files have the value heads
   * of a DeltaNet in that order. Left out, columns stay.
   */
  readonly columnHeads?: {
    readonly keyHeads: number;
    readonly perKey: number;
    /** A multiple of `wholeElements` of the weights. */
    readonly each: number;
  };
}

/** Elements of which weights of a type are made, and within which nothing can be moved. */
export function wholeElements(dtype: Tensor["dtype"]): number {
  return isQuantised(dtype) ? (dtype === "q4k" ? 64 : 32) : 4;
}

/**
 * The numbers that flat weights in f16 or bf16 stand for.
 *
 * @param halves f16 or bf16 [N], N a multiple of 4
 * @param floats f32 [N]
 * @throws Error when the shapes do not fit
 */
export function unpackHalves(gpu: Gpu, halves: Tensor, floats: Tensor): void {
  const { dtype, size, label } = halves;
  if (dtype !== "f16" && dtype !== "bf16") throw new Error(`unpack halves: ${label} is ${dtype}`);
  expectShape("unpack halves", "floats", floats, [size]);
  const words = halves.as("u32", [size / 2]);
  const type = dtype === "f16" ? "F16" : "BF16";
  const whole = { firstElement: 0, targetStart: 0, interleavedHead: 0 };
  unpack(gpu, words, floats, { type, elements: size, width: size, ...whole });
}

/**
 * Writes the elements of packed blocks into weights, rounded to nearest even where those are f16 or bf16. Weights in
 * quantised blocks keep what the file's stand for, which is then what weights in f32 would hold, to the last bit.
 *
 * @param packed u32 words, the last one possibly in part
 * @param weights f32, f16, bf16 or quantised blocks, flat
 * @throws Error when the piece does not fit
 */
export function unpack(gpu: Gpu, packed: Tensor, weights: Tensor, piece: PackedPiece): void {
  const { type, elements, firstElement, width, targetStart, interleavedHead } = piece;
  const { keyHeads, perKey, each } = piece.columnHeads ?? { keyHeads: 1, perKey: 1, each: 0 };
  const block = storedTypes[type];
  expectShape("unpack", "packed", packed, [-1], "u32");
  expectShape("unpack", "weights", weights, [-1], weights.dtype);
  const { dtype } = weights;
  const alignment = wholeElements(dtype);
  const perLane = dtype === "q4" || dtype === "q4k" ? 8 : 4;
  if (
    [elements, firstElement, targetStart, width, each].some((count) => count % alignment !== 0) ||
    (isQuantised(dtype) && !isKeptAs(dtype, type)) ||
    (each > 0 && width !== keyHeads * perKey * each) ||
    elements % block.elements !== 0 ||
    packed.bytes < storedBytes(type, elements) ||
    targetStart + firstElement + elements > Math.min(weights.size, 2 ** 32)
  ) {
    throw new Error(
      `unpack: ${elements} elements of ${type} in rows of ${width} do not fit ${dtype}`,
    );
  }
  const WORKGROUP = independentLanes(gpu.tuning);
  gpu.dispatch(
    {
      label: `unpack ${type}`,
      code,
      defines: {
        TYPE: type,
        ELEMENTS: block.elements,
        BYTES: block.bytes,
        QUANTISED: isQuantisedStoredType(type),
        STORAGE: dtype,
        PER_LANE: perLane,
        ALIGNMENT: alignment,
        WORKGROUP,
      },
    },
    {
      ...{ elements, firstElement, targetStart, width, headDim: interleavedHead },
      ...{ groupWidth: each, keyHeads, perKey },
    },
    { packed, weights },
    gpu.grid(Math.ceil(elements / perLane / WORKGROUP)),
    { bytes: packed.bytes + elements * bytesOf(dtype) },
  );
}
