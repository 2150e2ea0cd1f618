import { inverseFrequencies } from "../../kernels/attention/rope_table.ts";

/** How a model stretches its rotation beyond the context it was first trained on. */
export type RopeScaling =
  | { readonly type: "linear"; readonly factor: number }
  /** Llama 3.1: wavelengths beyond the original context are stretched, short ones kept. */
  | {
    readonly type: "llama3";
    readonly factor: number;
    readonly lowFrequencyFactor: number;
    readonly highFrequencyFactor: number;
    /** Tokens of the original context. */
    readonly originalPositions: number;
  };

/**
 * Divisors of the D/2 frequencies.
 *
 * @param frequencies radians per position
 */
export function ropeDivisors(frequencies: Float64Array, scaling: RopeScaling | null): Float64Array {
  if (scaling === null) return frequencies.map(() => 1);
  if (scaling.type === "linear") return frequencies.map(() => scaling.factor);
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalPositions } = scaling;
  return frequencies.map((frequency) => {
    const turns = originalPositions * frequency / (2 * Math.PI);
    if (turns < low) return factor;
    if (turns > high) return 1;
    const share = (turns - low) / (high - low);
    return 1 / ((1 - share) / factor + share);
  });
}

/** The rotation of each pair of a head, in radians per position. */
export function scaledFrequencies(
  headDim: number,
  theta: number,
  scaling: RopeScaling | null,
): Float64Array {
  const frequencies = inverseFrequencies(headDim, theta);
  const divisors = ropeDivisors(frequencies, scaling);
  return frequencies.map((frequency, i) => frequency / divisors[i]);
}
