import type { Tensor } from "../gpu/tensor.ts";
import { pageTokens } from "../kernels/attention_shape.ts";
import type { Model } from "../model/decoder/model.ts";

export { pageTokens };

/** The keys and values of many sequences in pages that sequences with the same prompt may share. */
export class KvCache {
  /** Per layer [pages · pageTokens, KV, D] */
  readonly keys: readonly Tensor[];
  readonly values: readonly Tensor[];
  readonly #references: Uint16Array;
  readonly #free: number[];

  constructor(private readonly model: Model, readonly pages: number) {
    const { gpu, config } = model;
    const shape = [pages * pageTokens, config.kvHeads, config.headDim];
    this.keys = model.layers.map(() => gpu.tensor(shape, "f32", "cached keys"));
    this.values = model.layers.map(() => gpu.tensor(shape, "f32", "cached values"));
    this.#references = new Uint16Array(pages);
    this.#free = Array.from({ length: pages }, (_, page) => pages - 1 - page);
  }

  get freePages(): number {
    return this.#free.length;
  }

  /** @throws Error when no page is free: callers ask `freePages` first */
  allocate(): number {
    const page = this.#free.pop();
    if (page === undefined) throw new Error("the KV cache has no free page");
    this.#references[page] = 1;
    return page;
  }

  /** One more sequence uses the page. */
  share(page: number): void {
    this.#references[page]++;
  }

  /** One sequence fewer uses the page; the last one frees it. */
  free(page: number): void {
    if (--this.#references[page] === 0) this.#free.push(page);
  }

  /** Returns the GPU memory. */
  release(): void {
    this.model.gpu.release(...this.keys, ...this.values);
  }
}
