import { bytesOf, type Tensor } from "../../gpu/tensor.ts";
import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import type { Model } from "../../model/decoder/model.ts";

/** Pages for the keys of so many tokens. */
export function pagesFor(tokens: number): number {
  return Math.ceil(tokens / pageTokens);
}

/** The most pages of a cache: a layer's keys are bound as a whole. */
export function mostPages({ gpu: { device: { limits }, cacheDtype }, config }: Model): number {
  const { maxStorageBufferBindingSize, maxBufferSize } = limits;
  const bytesOfPage = bytesOf(cacheDtype) * pageTokens * config.kvHeads * config.headDim;
  return Math.floor(Math.min(maxStorageBufferBindingSize, maxBufferSize) / bytesOfPage);
}

/** The memory of the keys and values of many sequences; page p is rows p · pageTokens and following. */
export class KvCache {
  /** Per layer [pages · pageTokens, KV, D] in `Gpu.cacheDtype` */
  readonly keys: readonly Tensor[];
  readonly values: readonly Tensor[];

  /** @throws BufferTooLarge when a layer's keys are more than the device binds */
  constructor(private readonly model: Model, readonly pages: number) {
    const { gpu, config } = model;
    const shape = [pages * pageTokens, config.kvHeads, config.headDim];
    const keys: Tensor[] = [];
    const values: Tensor[] = [];
    try {
      for (let layer = 0; layer < config.layers; layer++) {
        keys.push(gpu.tensor(shape, gpu.cacheDtype, "cached keys"));
        values.push(gpu.tensor(shape, gpu.cacheDtype, "cached values"));
      }
    } catch (error) {
      gpu.release(...keys, ...values);
      throw error;
    }
    this.keys = keys;
    this.values = values;
  }

  /** Returns the GPU memory. */
  release(): void {
    this.model.gpu.release(...this.keys, ...this.values);
  }
}
