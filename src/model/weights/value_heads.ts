/**
 * The order of a DeltaNet's value heads, of which each key head has as many. In `transformers` those of a key head stand
 * side by side: head k·R + r is the r-th of key head k, R = Vh / Kh. In GGUF files the first ones of all key heads come
 * first, so that keys need only be repeated as they are: it is head r·Kh + k there.
 */

import type { DeltaShape } from "../../kernels/delta/delta_shape.ts";
import { deltaNames } from "../decoder/names.ts";

/** The heads of a DeltaNet, without the taps of its convolution. */
export type DeltaHeads = Omit<DeltaShape, "taps">;

/** Where the value heads of a tensor lie. */
export interface HeadsPlace {
  /** Kh */
  readonly keyHeads: number;
  /** R, value heads of each key head, more than 1 */
  readonly perKey: number;
  /** Along which axis of the tensor they lie one after the other. */
  readonly axis: "rows" | "columns";
  /** Rows before the first head: those of queries and keys. */
  readonly first: number;
  /** Rows or columns of each head. */
  readonly each: number;
}

/** Of which tensors the rows are those of value heads: whether queries and keys come first, and whether a row is a head. */
const rows: Readonly<Record<string, { readonly hasKeys?: true; readonly isHead?: true }>> = {
  [`${deltaNames.inputs}.weight`]: { hasKeys: true },
  [`${deltaNames.convolution}.weight`]: { hasKeys: true },
  [`${deltaNames.gates}.weight`]: {},
  [`${deltaNames.strengths}.weight`]: { isHead: true },
  [`${deltaNames.steps}.weight`]: { isHead: true },
  [deltaNames.decayLogs]: { isHead: true },
  [deltaNames.stepBiases]: { isHead: true },
};

/**
 * Where the value heads of a tensor lie whose order in GGUF files is another one; null where nothing is moved.
 *
 * @param heads of the model's DeltaNets; null of a model without
 * @param name in the words of Hugging Face
 */
export function headsPlace(heads: DeltaHeads | null, name: string): HeadsPlace | null {
  const tensor = /^model\.layers\.\d+\.(.+)$/.exec(name)?.[1] ?? "";
  if (heads === null || heads.valueHeads === heads.keyHeads) return null;
  const { keyHeads, valueHeads, keyDim, valueDim } = heads;
  const place = { keyHeads, perKey: valueHeads / keyHeads };
  if (tensor === `${deltaNames.output}.weight`) {
    return { ...place, axis: "columns", first: 0, each: valueDim };
  }
  if (!Object.hasOwn(rows, tensor)) return null;
  const { hasKeys, isHead } = rows[tensor];
  return {
    ...place,
    axis: "rows",
    first: hasKeys ? 2 * keyHeads * keyDim : 0,
    each: isHead ? 1 : valueDim,
  };
}

/** Which head of a GGUF file head `head` of the model is. */
export function headInFile({ keyHeads, perKey }: HeadsPlace, head: number): number {
  return (head % perKey) * keyHeads + Math.floor(head / perKey);
}

/** A stretch of a tensor: where it lies in the file's order, in the unit of the question. */
interface Stretch {
  readonly begin: number;
  readonly size: number;
}

/**
 * Where a stretch of rows in the model's order lies in the file's, in order.
 *
 * @param rowSize of a row, in elements or bytes, as `begin` and `size`
 */
export function* stretchesInFile(
  place: HeadsPlace,
  rowSize: number,
  begin: number,
  size: number,
): Generator<Stretch> {
  const first = place.first * rowSize, each = place.each * rowSize;
  for (let at = begin; at < begin + size;) {
    const left = begin + size - at;
    if (at < first) {
      const one = Math.min(first - at, left);
      yield { begin: at, size: one };
      at += one;
      continue;
    }
    const head = Math.floor((at - first) / each), within = (at - first) % each;
    const one = Math.min(each - within, left);
    yield { begin: first + headInFile(place, head) * each + within, size: one };
    at += one;
  }
}

/**
 * The elements of a tensor [rows, width] in the order of a file, of its elements in the model's order. The first value
 * heads of all key heads are picked out of one reading, the second ones of another: no more than a piece is held.
 *
 * @param width elements of a row
 * @param read yields all elements in the model's order, each time it is called
 */
export async function* rowsInFile(
  place: HeadsPlace,
  width: number,
  read: () => AsyncIterable<Float32Array>,
): AsyncGenerator<Float32Array> {
  const { keyHeads, perKey } = place;
  const first = place.first * width, each = place.each * width;
  for (let r = 0; r < perKey; r++) {
    const wanted = Array.from({ length: keyHeads }, (_, k) => first + (k * perKey + r) * each)
      .map((begin) => [begin, begin + each]);
    if (r === 0) wanted.unshift([0, first]);
    let at = 0;
    for await (const piece of read()) {
      for (const [begin, end] of wanted) {
        const part = piece.subarray(Math.max(0, begin - at), Math.max(0, end - at));
        if (part.length > 0) yield part;
      }
      at += piece.length;
    }
  }
}

/** Rows of whole heads [n, Vh·each] with the heads of each row in the order of a file. */
export function columnsInFile(place: HeadsPlace, elements: Float32Array): Float32Array {
  const { keyHeads, perKey, each } = place;
  const heads = keyHeads * perKey;
  const moved = new Float32Array(elements.length);
  for (let row = 0; row < elements.length; row += heads * each) {
    for (let head = 0; head < heads; head++) {
      const part = elements.subarray(row + head * each, row + (head + 1) * each);
      moved.set(part, row + headInFile(place, head) * each);
    }
  }
  return moved;
}
