import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";

/** Stands for no token, no cache row. */
export const noToken = 0xffffffff;

/**
 * What decoding reads of each slot and moves on, u32. A slot is active while `remaining` is above 0. Before the first
 * token is drawn, it stands at its prompt's last token: position promptLength − 1.
 */
const fields = [
  /** The last token, input of the next step. Of no meaning when inactive. */
  "tokens",
  /** Position of that token in its sequence. */
  "positions",
  /** Tokens that may still be drawn. */
  "remaining",
  /** Row of the key-value cache for the token's key and value; `noToken` for an inactive slot. */
  "keyRows",
  /** Keys to attend to, the token's own included; 0 for an inactive slot. */
  "lengths",
] as const;
export type SlotField = typeof fields[number];

/** Which row of a state is a field's. */
export function slotFieldAt(field: SlotField): number {
  return fields.indexOf(field);
}

/** Where the tokens of S slots stand, and which row of a cache each one's key and value fill. */
export interface KeyPlaces {
  /** u32 [keyRowsAt + S]: `positions`, and from `keyRowsAt` on the rows */
  readonly places: Tensor;
  readonly keyRowsAt: number;
}

/** Where each of S sequences stands while decoding, all kept on the GPU. */
export interface DecodeSlots extends Readonly<Record<SlotField, Tensor>>, KeyPlaces {
  /** u32 [fields + further reaches, ≥ S], of which the fields are views [S] */
  readonly state: Tensor;
  /** Rows in the caches of layers that look back less far than those of `keyRows`. */
  readonly furtherPlaces: readonly KeyPlaces[];
}

/** Windows on a tensor begin at multiples of so many words. */
const alignment = 64;

/**
 * Memory for so many slots, see `slotsOf`.
 *
 * @param reaches caches in which each has a row of its own, at least 1
 */
export function decodeState(gpu: Gpu, slots: number, reaches = 1): Tensor {
  return gpu.tensor(
    [fields.length + reaches - 1, Math.ceil(slots / alignment) * alignment],
    "u32",
    "decode state",
  );
}

/** The first `count` slots of what `decodeState` gave. */
export function slotsOf(state: Tensor, count: number): DecodeSlots {
  const [rows, stride] = state.shape;
  const [tokens, positions, remaining, keyRows, lengths] = fields.map((field, index) =>
    state.view(index * stride, [count], `decode ${field}`)
  );
  const first = fields.indexOf("positions");
  const placesWith = (row: number): KeyPlaces => {
    const keyRowsAt = (row - first) * stride;
    const places = state.view(first * stride, [keyRowsAt + count], "decode places");
    return { places, keyRowsAt };
  };
  const furtherPlaces = Array.from(
    { length: rows - fields.length },
    (_, further) => placesWith(fields.length + further),
  );
  const own = placesWith(fields.indexOf("keyRows"));
  return { state, tokens, positions, remaining, keyRows, lengths, ...own, furtherPlaces };
}

/** Where a slot stands. */
export interface SlotWords extends Readonly<Record<SlotField, number>> {
  /** Rows in the caches of `furtherPlaces`; none where there is one cache. */
  readonly furtherRows?: readonly number[];
}

/**
 * Words of a state: the fields of each slot; slots beyond the given ones are inactive.
 *
 * @throws Error when a slot has not a row for each of its caches
 */
export function stateWords(
  { shape: [rows, stride], size }: Tensor,
  slots: readonly SlotWords[],
): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(size);
  fields.forEach((field, index) => {
    if (field === "keyRows") words.fill(noToken, index * stride, (index + 1) * stride);
    slots.forEach((slot, s) => words[index * stride + s] = slot[field]);
  });
  words.fill(noToken, fields.length * stride);
  slots.forEach(({ furtherRows = [] }, s) => {
    if (furtherRows.length !== rows - fields.length) {
      throw new Error(`a slot with ${furtherRows.length} rows of ${rows - fields.length} caches`);
    }
    furtherRows.forEach((row, further) => words[(fields.length + further) * stride + s] = row);
  });
  return words;
}

/**
 * The stop tokens of every slot in one array: where each slot's begin and end in it, then the tokens.
 *
 * @param count S; slots beyond the given ones have none
 * @returns u32 [2 S + N]; slots with the same array share its tokens
 */
export function stopArray(
  slots: readonly (readonly number[])[],
  count: number,
): Uint32Array<ArrayBuffer> {
  const ranges = new Uint32Array(2 * count);
  const places = new Map<readonly number[], number>();
  const tokens: number[] = [];
  slots.forEach((stopTokens, s) => {
    let first = places.get(stopTokens);
    if (first === undefined) {
      places.set(stopTokens, first = ranges.length + tokens.length);
      for (const token of stopTokens) tokens.push(token);
    }
    ranges.set([first, first + stopTokens.length], 2 * s);
  });
  const array = new Uint32Array(ranges.length + tokens.length);
  array.set(ranges);
  array.set(tokens, ranges.length);
  return array;
}
