/** Tokens and experts of odd shapes, and the rows that each expert is sent. */

import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { MatrixType } from "../../../src/gpu/tensor.ts";
import type { GroupedTile } from "../../../src/kernels/experts/grouped_tiles.ts";
import { type Grouping, groupPairs } from "../../../src/kernels/experts/grouping.ts";
import { float32ToBfloat16 } from "../../../src/model/decoder/half_precision.ts";
import { randomFloats } from "../harness.ts";

/** T, E, k, and the width of a token C and inside an expert I; expert E - 1 is nobody's where there are enough. */
export const shapes = [
  { tokens: 1, experts: 5, chosen: 2, width: 20, inner: 12 },
  { tokens: 23, experts: 7, chosen: 3, width: 36, inner: 28 },
  { tokens: 70, experts: 3, chosen: 1, width: 8, inner: 76 },
] as const;
export type Shape = (typeof shapes)[number];

/** [T, k] experts, most tokens with one of the first. */
export function choices({ tokens, experts, chosen }: Shape): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: tokens * chosen }, (_, i) => {
    const [t, j] = [Math.floor(i / chosen), i % chosen];
    return j === 0 ? (t % 5 === 0 ? 1 : 0) : (2 + t % 2 + j - 1) % (experts - 1);
  });
}

/** Tiles of a CPU's lanes and of a GPU's. */
export const tiles: readonly GroupedTile[] = [
  { sharing: "uniform", rows: 4, lanes: 8, isLooped: true },
  { sharing: "uniform", rows: 16, lanes: 16, isLooped: true },
  { sharing: "uniform", rows: 8, lanes: 32, isLooped: false },
  // Of few lanes and short slabs: a software driver compiles those of a GPU for half a minute each.
  { sharing: "tiled", rm: 4, rn: 8, lx: 2, ly: 4, tk: 8 },
];

/** Host tensors of a shape, all of one seed each. */
export function numbers({ tokens, experts, chosen, width, inner }: Shape) {
  const pairs = tokens * chosen;
  return {
    x: randomFloats(tokens * width, 1),
    gateUp: randomFloats(experts * 2 * inner * width, 2),
    down: randomFloats(experts * width * inner, 3),
    h: randomFloats(pairs * inner, 4),
    dy: randomFloats(tokens * width, 5),
    weights: randomFloats(pairs, 6),
  };
}

/** The rows of A at the places of one expert, as a matrix of their own; null where it has none. */
export function rowsOf(gpu: Gpu, data: Float32Array, width: number, rows: readonly number[]) {
  if (rows.length === 0) return null;
  const own = new Float32Array(rows.length * width);
  rows.forEach((row, i) => own.set(data.subarray(row * width, (row + 1) * width), i * width));
  return gpu.from(own, [rows.length, width]);
}

/** Of each expert its places, and their tokens. */
export function placesOf(shape: Shape): { readonly places: number[]; readonly tokens: number[] }[] {
  const own = choices(shape);
  const list = Array.from(own.keys()).sort((a, b) => own[a] - own[b] || a - b);
  return Array.from({ length: shape.experts }, (_, e) => {
    const places = Array.from(list.keys()).filter((place) => own[list[place]] === e);
    return { places, tokens: places.map((place) => Math.floor(list[place] / shape.chosen)) };
  });
}

export const grouped = (gpu: Gpu, shape: Shape): Grouping =>
  groupPairs(
    gpu,
    gpu.from(choices(shape), [shape.tokens, shape.chosen], "u32"),
    shape.experts,
  );

/** A matrix as it is stored. */
export function stored(
  gpu: Gpu,
  data: Float32Array,
  shape: readonly number[],
  storage: MatrixType,
) {
  return storage === "bf16"
    ? gpu.from(float32ToBfloat16(data), shape, "bf16")
    : gpu.from(data, shape);
}
