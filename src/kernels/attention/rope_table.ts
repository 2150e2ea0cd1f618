import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";

/**
 * Rotation per position of each pair of a head: theta^(-2i/D), i = 0 … D/2 - 1.
 *
 * @param headDim D
 * @param theta base of the wavelengths, `rope_theta` in a model's configuration
 */
export function inverseFrequencies(headDim: number, theta: number): Float64Array {
  return Float64Array.from({ length: headDim / 2 }, (_, i) => theta ** (-2 * i / headDim));
}

/**
 * Cosines and sines of every position, computed on the CPU in float64 so that they are accurate and the
 * same on every device: [P, D/2, 2] with (cos, sin) of position · frequency.
 *
 * @param maxPositions P, positions 0 … P - 1
 * @param frequencies D/2 of them, from `inverseFrequencies` or scaled as a model asks
 */
export function ropeTable(gpu: Gpu, maxPositions: number, frequencies: ArrayLike<number>): Tensor {
  const half = frequencies.length;
  const data = new Float32Array(maxPositions * half * 2);
  for (let position = 0, at = 0; position < maxPositions; position++) {
    for (let i = 0; i < half; i++) {
      const angle = position * frequencies[i];
      data[at++] = Math.cos(angle);
      data[at++] = Math.sin(angle);
    }
  }
  return gpu.from(data, [maxPositions, half, 2], "f32", "rope table");
}
