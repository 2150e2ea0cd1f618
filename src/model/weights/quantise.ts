/** Weights as the quantised blocks of GGUF files; `unpack.wgsl` reads them back. */

import { type QuantisedStoredType, storedTypes } from "../../kernels/parts/stored_type.ts";

/** Block types that weights can be written as. */
export const writtenBlocks = ["Q8_0", "Q4_0", "Q4_K"] as const satisfies QuantisedStoredType[];
export type WrittenBlock = (typeof writtenBlocks)[number];

type BlockWriter = (elements: Float32Array, target: DataView<ArrayBuffer>, at: number) => void;

/**
 * Quantises elements to blocks.
 *
 * @param elements a whole number of blocks
 */
export function quantise(type: WrittenBlock, elements: Float32Array): Uint8Array<ArrayBuffer> {
  const { elements: length, bytes } = storedTypes[type];
  const blocks = elements.length / length;
  const target = new DataView(new ArrayBuffer(blocks * bytes));
  for (let block = 0; block < blocks; block++) {
    writers[type](elements.subarray(block * length, (block + 1) * length), target, block * bytes);
  }
  return new Uint8Array(target.buffer);
}

const { fround, abs, min, max, round, trunc } = Math;

/** 32 elements d·q with q of 8 bits: the largest becomes ±127. The bytes are ggml's. */
function writeQ8_0(elements: Float32Array, target: DataView<ArrayBuffer>, at: number): void {
  let largest = 0;
  for (const element of elements) largest = max(largest, abs(element));
  const scale = fround(largest / 127);
  const inverse = scale === 0 ? 0 : fround(1 / scale);
  target.setFloat16(at, scale, true);
  elements.forEach((element, i) => {
    const value = fround(element * inverse);
    target.setInt8(at + 2 + i, Math.sign(value) * trunc(abs(value) + 0.5));
  });
}

/** 32 elements d·(q − 8) with q of 4 bits: the largest by magnitude becomes −8. The bytes are ggml's. */
function writeQ4_0(elements: Float32Array, target: DataView<ArrayBuffer>, at: number): void {
  let largest = 0;
  for (const element of elements) if (abs(element) > abs(largest)) largest = element;
  const scale = fround(largest / -8);
  const inverse = scale === 0 ? 0 : fround(1 / scale);
  target.setFloat16(at, scale, true);
  const level = (element: number) => min(15, trunc(fround(fround(element * inverse) + 8.5)));
  for (let i = 0; i < 16; i++) {
    target.setUint8(at + 2 + i, level(elements[i]) | level(elements[i + 16]) << 4);
  }
}

/** Elements of a part of a Q4_K block, which has a scale and an offset of its own. */
const PART = 32;

/**
 * 256 elements in eight parts, d·s·q − dmin·m with q of 4 and s and m of 6 bits. Scale and offset of a part
 * are those of the smallest squared error, large elements counting for more, among fits by least squares to
 * the levels that some first guesses give.
 */
function writeQ4_K(elements: Float32Array, target: DataView<ArrayBuffer>, at: number): void {
  const parts = Array.from({ length: 8 }, (_, p) => elements.subarray(p * PART, (p + 1) * PART));
  const fits = parts.map(fitPart);
  const unit = (largest: number) => {
    target.setFloat16(at, largest / 63, true);
    return target.getFloat16(at, true);
  };
  const offsetUnit = unit(max(...fits.map(({ offset }) => offset)));
  const scaleUnit = unit(max(...fits.map(({ scale }) => scale)));
  target.setFloat16(at + 2, offsetUnit, true);
  const sixBits = (value: number, of: number) => of === 0 ? 0 : min(63, round(value / of));
  fits.forEach(({ scale, offset }, p) => {
    const s = sixBits(scale, scaleUnit), m = sixBits(offset, offsetUnit);
    writePartScales(target, at + 4, p, s, m);
    const step = scaleUnit * s, low = offsetUnit * m;
    if (step === 0) return;
    // Two parts share 32 bytes: the first of them has the low four bits.
    const first = at + 16 + (p >> 1) * PART;
    for (let i = 0; i < PART; i++) {
      const level = min(15, max(0, round((parts[p][i] + low) / step)));
      target.setUint8(first + i, target.getUint8(first + i) | level << 4 * (p & 1));
    }
  });
}

/** Six bits of scale and of offset for each of eight parts in twelve bytes. */
function writePartScales(
  target: DataView<ArrayBuffer>,
  at: number,
  part: number,
  scale: number,
  offset: number,
): void {
  const add = (byte: number, bits: number) =>
    target.setUint8(at + byte, target.getUint8(at + byte) | bits);
  if (part < 4) {
    add(part, scale);
    add(part + 4, offset);
    return;
  }
  add(part + 4, scale & 15 | (offset & 15) << 4);
  add(part - 4, scale >> 4 << 6);
  add(part, offset >> 4 << 6);
}

/** Scale and offset, both at least 0, by which elements are about scale·q − offset with q from 0 to 15. */
function fitPart(elements: Float32Array): { scale: number; offset: number } {
  let low = 0, high = -Infinity, squares = 0;
  for (const element of elements) {
    low = min(low, element);
    high = max(high, element);
    squares += element * element;
  }
  if (high <= low) return { scale: 0, offset: -low };
  const meanRoot = Math.sqrt(squares / PART);
  let best = { scale: (high - low) / 15, offset: -low, error: Infinity };
  for (let guess = 0; guess <= 20; guess++) {
    const fit = fitLevels(elements, low, (14 + guess * 0.1) / (high - low), meanRoot);
    if (fit.error < best.error) best = fit;
  }
  return best;
}

/**
 * Least squares of elements against the levels that a first guess gives them.
 *
 * @param inverse 1 / scale of the guess, whose offset is −low
 * @param meanRoot added to an element's magnitude in its weight
 */
function fitLevels(elements: Float32Array, low: number, inverse: number, meanRoot: number) {
  let w = 0, wq = 0, wqq = 0, wx = 0, wqx = 0, wxx = 0;
  for (let i = 0; i < PART; i++) {
    const element = elements[i], weight = meanRoot + abs(element);
    const level = min(15, max(0, round((element - low) * inverse)));
    w += weight;
    wq += weight * level;
    wqq += weight * level * level;
    wx += weight * element;
    wqx += weight * level * element;
    wxx += weight * element * element;
  }
  const determinant = w * wqq - wq * wq;
  let scale = (w * wqx - wq * wx) / determinant;
  let offset = (wq * wqx - wqq * wx) / determinant;
  // An offset is subtracted, and cannot be below 0.
  if (offset < 0) [scale, offset] = [wqx / wqq, 0];
  const error = scale * scale * wqq + offset * offset * w + wxx -
    2 * scale * offset * wq - 2 * scale * wqx + 2 * offset * wx;
  return { scale, offset, error: determinant > 0 && scale > 0 ? error : Infinity };
}

const writers: Readonly<Record<WrittenBlock, BlockWriter>> = {
  Q8_0: writeQ8_0,
  Q4_0: writeQ4_0,
  Q4_K: writeQ4_K,
};
