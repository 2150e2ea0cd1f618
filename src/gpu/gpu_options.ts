import type { EngineName } from "./adapter.ts";
import type { CacheDtype } from "./tensor.ts";
import type { Precision } from "./tuning.ts";

/** Values of `--gpu`. `auto` takes the native engine, and Dawn where the precision takes matrix units. */
export type EngineChoice = "auto" | EngineName;

/** How a GPU is opened. */
export interface GpuOptions {
  /** Seconds that a submit may take, as estimated; 0.1 by default. */
  readonly submitSeconds?: number;
  /** Number of the GPU, see `listGpus`; left out, the engine takes the one it thinks fastest. */
  readonly index?: number;
  /** Precision of products of activations with weights; f32 by default. */
  readonly precision?: Precision;
  /**
   * Opens it with no more than WebGPU promises of every adapter: the limits that nobody asked for, and no optional
   * feature. Everything must run so; what a device has besides makes it faster.
   */
  readonly promisedOnly?: boolean;
  /** Type of keys and values, which are rounded to it in training too; f32 by default. */
  readonly cacheDtype?: CacheDtype;
}
