import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";

/** How the pairs of a head turn from one position to the next. */
export interface RopeAngles {
  /** Radians per position of the pairs that are rotated, R/2 of them. */
  readonly frequencies: ArrayLike<number>;
  /** D/2: the pairs of a head; those after the rotated ones stay as they are. */
  readonly pairs: number;
  /** Multiplies what is rotated. */
  readonly magnitude: number;
}

/**
 * Rotation per position of each pair of R elements: theta^(-2i/R), i = 0 … R/2 - 1.
 *
 * @param size R
 * @param theta base of the wavelengths, `rope_theta` in a model's configuration
 */
export function inverseFrequencies(size: number, theta: number): Float64Array {
  return Float64Array.from({ length: size / 2 }, (_, i) => theta ** (-2 * i / size));
}

/**
 * Cosines and sines of every position, computed on the CPU in float64 so that they are accurate and the
 * same on every device: [P, D/2, 2] with (cos, sin) of position · frequency, times the magnitude.
 *
 * @param maxPositions P, positions 0 … P - 1
 */
export function ropeTable(
  gpu: Gpu,
  maxPositions: number,
  { frequencies, pairs, magnitude }: RopeAngles,
): Tensor {
  const data = new Float32Array(maxPositions * pairs * 2);
  for (let position = 0, at = 0; position < maxPositions; position++) {
    for (let i = 0; i < pairs; i++) {
      const isRotated = i < frequencies.length;
      const angle = isRotated ? position * frequencies[i] : 0;
      data[at++] = isRotated ? magnitude * Math.cos(angle) : 1;
      data[at++] = magnitude * Math.sin(angle);
    }
  }
  return gpu.from(data, [maxPositions, pairs, 2], "f32", "rope table");
}
