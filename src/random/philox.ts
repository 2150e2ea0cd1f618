/**
 * Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
 * easy as 1, 2, 3", SC'11). A number depends only on where it is used, never on what was drawn before,
 * so the CPU, the GPU and a resumed run all see the same ones.
 *
 * Keying, shared with the WGSL twin:
 *   key     = [seed low 32 bits, stream]
 *   counter = [position (or draw index), sequence, step, seed high bits]
 *   uniform = (first word >>> 8) * 2^-24
 */

/** What a stream of random numbers is used for; two uses never share numbers. */
export const streams = {
  problems: 1,
  generatorRollout: 2,
  verifierRollout: 3,
  evaluation: 4,
  initialisation: 5,
  supervision: 6,
  verifierEvaluation: 7,
  heldOutProblems: 8,
  validationProblems: 9,
  validation: 10,
  served: 11,
  oracleJudgments: 12,
  dealtJudgments: 13,
  continuations: 14,
  verifierPool: 15,
  learnability: 16,
  ownSolutions: 17,
  bootstrap: 32,
  bankSolutions: 33,
  bankCorruptions: 34,
  bankCritiques: 35,
  auditedSteps: 36,
  teacher: 37,
  benchmarks: 38,
} as const;

const ROUNDS = 10;
const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
const WEYL_0 = 0x9e3779b9;
const WEYL_1 = 0xbb67ae85;

/** High 32 bits of the 64-bit product of two unsigned 32-bit integers, by 16-bit halves. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff, aHigh = a >>> 16;
  const bLow = b & 0xffff, bHigh = b >>> 16;
  const carry = (Math.imul(aLow, bLow) >>> 16) + (Math.imul(aHigh, bLow) >>> 0);
  const middle = (carry & 0xffff) + (Math.imul(aLow, bHigh) >>> 0);
  // `carry` and `middle` stay below 2^32 + 2^16, so float64 holds them exactly.
  return (Math.imul(aHigh, bHigh) + Math.floor(carry / 65536) + Math.floor(middle / 65536)) >>> 0;
}

/** The four 32-bit words of Philox4x32-10 for one 128-bit counter and one 64-bit key. */
export function philox4x32(
  counter: readonly [number, number, number, number],
  key: readonly [number, number],
): Uint32Array {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0 >>> 0);
    const low0 = Math.imul(MULTIPLIER_0, c0);
    const high1 = multiplyHigh(MULTIPLIER_1, c2 >>> 0);
    const low1 = Math.imul(MULTIPLIER_1, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + WEYL_0) | 0;
    k1 = (k1 + WEYL_1) | 0;
  }
  return Uint32Array.of(c0, c1, c2, c3);
}

/**
 * The two 32-bit halves [low, high] of a seed.
 * @throws Error if the seed is not an integer in [0, 2^53).
 */
export function seedWords(seed: number): [number, number] {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new Error(`seed: found ${seed}, expected an integer from 0 to 2^53 - 1`);
  }
  return [seed >>> 0, Math.floor(seed / 2 ** 32)];
}

/** Where one random number is used. */
export interface RandomPlace {
  seed: number;
  stream: number;
  step: number;
  sequence: number;
  position: number;
}

/** The uniform number in [0, 1) of one place; the same value the GPU computes there. */
export function uniformAt(place: RandomPlace): number {
  const [seedLow, seedHigh] = seedWords(place.seed);
  const words = philox4x32(
    [place.position, place.sequence, place.step, seedHigh],
    [seedLow, place.stream],
  );
  return (words[0] >>> 8) * 2 ** -24;
}

/** The numbers of one (seed, stream, step, sequence) in order: draw d is position d. */
export class RandomStream {
  readonly #place: RandomPlace;

  constructor(seed: number, stream: number, step = 0, sequence = 0) {
    seedWords(seed);
    this.#place = { seed, stream, step, sequence, position: 0 };
  }

  /** The next uniform number in [0, 1), a multiple of 2^-24. */
  uniform(): number {
    const value = uniformAt(this.#place);
    this.#place.position++;
    return value;
  }

  /**
   * The next integer in [0, n).
   * @throws Error if n is not an integer from 1 to 2^24, the resolution of one draw.
   */
  integer(n: number): number {
    if (!Number.isInteger(n) || n < 1 || n > 2 ** 24) {
      throw new Error(`random integer below ${n}: expected a bound from 1 to 2^24`);
    }
    return Math.floor(this.uniform() * n);
  }
}
