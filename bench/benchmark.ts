import type { Gpu } from "../src/gpu/gpu.ts";
import type { DataType, Tensor } from "../src/gpu/tensor.ts";
import type { Shape } from "./shapes.ts";

/** One element of a result beside its float64 reference. */
export interface TimingSample {
  readonly what: string;
  readonly actual: number;
  readonly expected: number;
  /** The largest difference that rounding explains. */
  readonly bound: number;
}

/** A kernel or a whole step at one shape, ready to run. */
export interface TimedKernel {
  /** Floating-point operations, bytes or tokens of one run, counted as bench/shapes.json says. */
  readonly work: number;
  /** Records one run; whole steps also wait for it. */
  launch(): void | Promise<void>;
  /** Compares what the first run left with numbers found in another way, mostly in float64. */
  check(): Promise<readonly TimingSample[]>;
}

/** Makes a benchmark; `variant` is "" where shapes.json lists none. */
export type MakeBenchmark = (
  bench: Workbench,
  shape: Shape,
  variant: string,
) => TimedKernel | Promise<TimedKernel>;

/** A tensor with what was written to it. */
export interface Input<Data> {
  readonly tensor: Tensor;
  readonly data: Data;
}

/** Makes the tensors of one benchmark and releases them after it. */
export class Workbench {
  #tensors: Tensor[] = [];
  #cleanups: (() => void)[] = [];
  #state = 1;

  constructor(readonly gpu: Gpu) {}

  /** Uniform numbers in [-scale, scale). */
  random(shape: readonly number[], scale = 1): Input<Float32Array> {
    const data = new Float32Array(shape.reduce((product, n) => product * n, 1));
    let state = this.#state++ * 0x9e3779b9;
    for (let i = 0; i < data.length; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      data[i] = state / 2 ** 31 * scale;
    }
    return { data, tensor: this.#keep(this.gpu.from(data, shape)) };
  }

  /** Uniform whole numbers below `limit`. */
  randomIntegers(count: number, limit: number): Input<Uint32Array> {
    const { data } = this.random([count]);
    return this.integers(Uint32Array.from(data, (value) => Math.floor((value + 1) / 2 * limit)));
  }

  /** Whole numbers. */
  integers(data: Uint32Array, shape: readonly number[] = [data.length]): Input<Uint32Array> {
    return { data, tensor: this.#keep(this.gpu.from(data, shape)) };
  }

  /** Room for a result; it holds zeros. */
  zeros(shape: readonly number[], dtype: DataType = "f32"): Tensor {
    return this.#keep(this.gpu.zeros(shape, dtype));
  }

  /** Has `release` run when the benchmark is over. */
  onRelease(release: () => void): void {
    this.#cleanups.push(release);
  }

  /** Releases everything made here. */
  release(): void {
    this.gpu.release(...this.#tensors);
    for (const cleanup of this.#cleanups) cleanup();
    this.#tensors = [];
    this.#cleanups = [];
    this.gpu.pool.trim();
  }

  #keep(tensor: Tensor): Tensor {
    this.#tensors.push(tensor);
    return tensor;
  }
}

/** A fixed handful of indices below `size`: both ends and some between. */
export function sampleIndices(size: number, count = 24): number[] {
  const indices = new Set([0, size - 1]);
  for (let i = 1; indices.size < Math.min(size, count); i++) {
    indices.add(Math.floor((i * 0.6180339887 % 1) * size));
  }
  return [...indices];
}

/** The dot product of `count` elements in float64, and the sum of its terms' magnitudes. */
export function dot(
  count: number,
  a: (k: number) => number,
  b: (k: number) => number,
): { readonly sum: number; readonly magnitude: number } {
  let [sum, magnitude] = [0, 0];
  for (let k = 0; k < count; k++) {
    const term = a(k) * b(k);
    sum += term;
    magnitude += Math.abs(term);
  }
  return { sum, magnitude };
}

/** What the roundings of a sum of `count` terms add up to, as a random walk with room to spare. */
export function sumBound(count: number, magnitude: number): number {
  return 4 * Math.sqrt(count + 4) * 2 ** -24 * magnitude;
}
