import { inverseFrequencies, type RopeAngles } from "../../kernels/attention/rope_table.ts";
import type { Rotation } from "./config.ts";

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
  }
  /** YaRN (Peng et al. 2023): stretched from so few turns in the original context on, and all rotated numbers grow. */
  | {
    readonly type: "yarn";
    readonly factor: number;
    /** Turns in the original context above which a pair is kept, and below which it is stretched. */
    readonly betaFast: number;
    readonly betaSlow: number;
    readonly originalPositions: number;
    /** Multiplies the rotated elements. */
    readonly magnitude: number;
    /** Whether the ramp between the two begins and ends at whole pairs. */
    readonly truncate: boolean;
  }
  /** LongRoPE (Ding et al. 2024) within the original context: a divisor for each pair. */
  | { readonly type: "longrope"; readonly divisors: readonly number[]; readonly magnitude: number };

/**
 * Divisors of the R/2 frequencies of a rotation.
 *
 * @param frequencies radians per position
 */
export function ropeDivisors({ size, theta, scaling }: Rotation): Float64Array {
  const frequencies = inverseFrequencies(size, theta);
  switch (scaling?.type) {
    case undefined:
      return frequencies.fill(1);
    case "linear":
      return frequencies.fill(scaling.factor);
    case "longrope":
      return Float64Array.from(scaling.divisors);
    case "llama3": {
      const { factor, lowFrequencyFactor: low, highFrequencyFactor: high } = scaling;
      return frequencies.map((frequency) => {
        const turns = scaling.originalPositions * frequency / (2 * Math.PI);
        if (turns < low) return factor;
        if (turns > high) return 1;
        const share = (turns - low) / (high - low);
        return 1 / ((1 - share) / factor + share);
      });
    }
    case "yarn": {
      const [first, last] = yarnRamp(size, theta, scaling);
      return frequencies.map((_, i) => {
        const stretched = Math.min(1, Math.max(0, (i - first) / (last - first)));
        return 1 / (stretched / scaling.factor + (1 - stretched));
      });
    }
  }
}

/** The pairs between which YaRN goes over from kept to stretched ones. */
function yarnRamp(
  size: number,
  theta: number,
  { betaFast, betaSlow, originalPositions, truncate }: Extract<RopeScaling, { type: "yarn" }>,
): [number, number] {
  // The pair that turns so often in the original context.
  const pairOf = (turns: number) =>
    size * Math.log(originalPositions / (turns * 2 * Math.PI)) / (2 * Math.log(theta));
  const first = pairOf(betaFast), last = pairOf(betaSlow);
  const from = Math.max(0, truncate ? Math.floor(first) : first);
  const to = Math.min(size - 1, truncate ? Math.ceil(last) : last);
  return [from, from === to ? to + 0.001 : to];
}

/**
 * How the pairs of a head turn.
 *
 * @param headDim D
 */
export function ropeAngles(headDim: number, rotation: Rotation): RopeAngles {
  const { size, theta, scaling } = rotation;
  const divisors = ropeDivisors(rotation);
  return {
    frequencies: inverseFrequencies(size, theta).map((frequency, i) => frequency / divisors[i]),
    pairs: headDim / 2,
    magnitude: scaling?.type === "yarn" || scaling?.type === "longrope" ? scaling.magnitude : 1,
  };
}
