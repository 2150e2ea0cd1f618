import {
  type HostArray,
  isQuantised,
  type MatrixType,
  type QuantisedType,
} from "../../gpu/tensor.ts";
import { RandomStream } from "../../random/philox.ts";

/** Numbers repeat after so many, a prime: no two rows are alike. */
const period = 4093;
/** Quantised blocks repeat after so many, a prime above the rows of any tile: no two of one are alike. */
const blocks = 131;

/** Stored words, and the numbers that they stand for, which repeat. */
export interface TrialNumbers {
  readonly stored: HostArray;
  readonly values: Float32Array;
}

/** Numbers in about [-1, 1) as a type stores them. */
export function trialNumbers(seed: number, type: MatrixType): TrialNumbers {
  const random = new RandomStream(seed, 99);
  if (isQuantised(type)) return quantised(random, type);
  const drawn = Float32Array.from({ length: period }, () => 2 * random.uniform() - 1);
  if (type === "f32") return { stored: drawn, values: drawn };
  if (type === "f16") {
    const halves = Float16Array.from(drawn);
    return { stored: new Uint16Array(halves.buffer), values: Float32Array.from(halves) };
  }
  const words = new Uint32Array(drawn.buffer).map((bits) => bits & 0xffff0000);
  return {
    stored: Uint16Array.from(words, (bits) => bits >>> 16),
    values: new Float32Array(words.buffer),
  };
}

/** Blocks as parts/stored_vectors.wgsl describes them, of random quants. */
function quantised(random: RandomStream, type: QuantisedType): TrialNumbers {
  const below = (count: number) => Math.floor(random.uniform() * count);
  const stored = new Uint32Array(10 * blocks);
  const words = new DataView(stored.buffer);
  const values: number[] = [];
  for (let block = 0; block < stored.byteLength; block += 40) {
    const perHalf = type === "q8" ? 16 : 32;
    const bits = type === "q8" ? 8 : 4;
    const half = (at: number, value: number) => {
      words.setFloat16(block + at, value, true);
      return words.getFloat16(block + at, true);
    };
    const factors = () => [(1 + random.uniform()) / 2 ** bits, -random.uniform()] as const;
    const [scale, minimum] = factors();
    // Scale and minimum of each half.
    let halves: readonly (readonly [scale: number, minimum: number])[];
    if (type === "q4") {
      halves = [0, 1].map((n) => {
        const [ownScale, ownMinimum] = factors();
        return [half(32 + 4 * n, ownScale), half(34 + 4 * n, ownMinimum)];
      });
    } else if (type === "q4k") {
      const [s, m] = [half(32, scale / 64), half(34, minimum / 64)];
      halves = [0, 1].map((n) => {
        const [ofScale, ofMinimum] = [below(64), below(64)];
        words.setUint8(block + 36 + n, ofScale);
        words.setUint8(block + 38 + n, ofMinimum);
        return [s * ofScale, m * ofMinimum];
      });
    } else {
      const s = half(32, scale / 64);
      words.setFloat32(block + 36, minimum / 8, true);
      const m = words.getFloat32(block + 36, true);
      halves = [0, 1].map((n) => {
        const multiplier = below(128) - 64;
        words.setInt8(block + 34 + n, multiplier);
        return [s * multiplier, m];
      });
    }
    for (let i = 0; i < 2 * perHalf; i++) {
      const [ownScale, ownMinimum] = halves[Math.floor(i / perHalf)];
      const quant = type === "q8" ? below(256) - 128 : below(16);
      const at = block + Math.floor(i * bits / 8);
      if (type === "q8") words.setInt8(at, quant);
      else words.setUint8(at, words.getUint8(at) | quant << (i % 2 * 4));
      values.push(Math.fround(quant * ownScale + ownMinimum));
    }
  }
  return { stored, values: Float32Array.from(values) };
}

/** An array that repeats what is stored. */
export function repeated(stored: HostArray, length: number): HostArray {
  const all = stored instanceof Float32Array
    ? new Float32Array(length)
    : stored instanceof Uint16Array
    ? new Uint16Array(length)
    : new Uint32Array(length);
  const period = Math.min(stored.length, length);
  all.set(stored.subarray(0, period));
  for (let filled = period; filled < length; filled *= 2) {
    all.copyWithin(filled, 0, Math.min(filled, length - filled));
  }
  return all;
}
