import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import {
  finishGradientNorm,
  gradientNormPartials,
  partialCount,
} from "../../kernels/optimizer/gradient_norm.ts";
import { type Slice, type SliceExchange, sliceOf } from "./slices.ts";

/**
 * The norm of gradients of which each process has its own slices. The slices' partial sums come together on
 * every process, who finishes them as one process would: the norm has the same bits on all of them, and however
 * many there are.
 */
export class SharedNorm {
  /** [1] what the gradients are multiplied by, 0 when they must not be used */
  readonly clipScale: Tensor;
  readonly #norm: Tensor;
  readonly #nonFinite: Tensor;
  /** u32 [P, 2] of all slices in their order. */
  readonly #partials: Tensor;

  constructor(
    private readonly gpu: Gpu,
    private readonly slices: readonly Slice[],
    private readonly exchange: SliceExchange,
  ) {
    this.#norm = gpu.tensor([1], "f32", "gradient norm");
    this.clipScale = gpu.tensor([1], "f32", "clip scale");
    this.#nonFinite = gpu.tensor([1], "u32", "non-finite gradients");
    const count = slices.reduce((sum, slice) => sum + partialsOf(slice), 0);
    this.#partials = gpu.tensor([count, 2], "u32", "gradient norm partials");
  }

  /**
   * Computes norm and clip scale, on the GPU.
   *
   * @param gradients f32, of which the own slices are looked at
   * @param maxGradientNorm above 0; Infinity for no clipping
   */
  async measure(gradients: readonly Tensor[], maxGradientNorm: number): Promise<void> {
    const { gpu } = this;
    const norm = { norm: this.#norm, clipScale: this.clipScale, nonFinite: this.#nonFinite };
    if (this.exchange.size > 1) await this.#gatherPartials(gradients);
    else gradientNormPartials(gpu, gradients, this.#partials);
    finishGradientNorm(gpu, this.#partials, norm, maxGradientNorm);
  }

  async #gatherPartials(gradients: readonly Tensor[]): Promise<void> {
    const { gpu, exchange: { rank, size }, slices } = this;
    const perProcess = Array.from({ length: size }, (_, owner) => {
      const count = slices.reduce((sum, s) => s.owner === owner ? sum + partialsOf(s) : sum, 0);
      return new Uint32Array(2 * count);
    });
    const own = slices.filter(({ owner }) => owner === rank);
    if (own.length > 0) {
      const partials = gpu.tensor(
        [perProcess[rank].length / 2, 2],
        "u32",
        "gradient norm partials",
      );
      gradientNormPartials(gpu, own.map((slice) => sliceOf(gradients, slice)), partials);
      try {
        perProcess[rank].set(await gpu.read(partials));
      } finally {
        gpu.release(partials);
      }
    }
    await this.exchange.gather(perProcess.map(({ buffer }) => new Uint8Array(buffer)));
    const all = new Uint32Array(this.#partials.size);
    const taken = new Array<number>(size).fill(0);
    let at = 0;
    for (const slice of slices) {
      const { owner } = slice;
      const next = taken[owner] + 2 * partialsOf(slice);
      all.set(perProcess[owner].subarray(taken[owner], next), at);
      at += next - taken[owner];
      taken[owner] = next;
    }
    gpu.write(this.#partials, all);
  }

  /** Waits for what `measure` computed. */
  async read(): Promise<{ norm: number; nonFinite: number }> {
    const [[norm], [nonFinite]] = await this.gpu.readAll([this.#norm, this.#nonFinite]);
    return { norm, nonFinite };
  }

  /** Returns the GPU memory. */
  release(): void {
    this.gpu.release(this.#norm, this.clipScale, this.#nonFinite, this.#partials);
  }
}

const partialsOf = ({ first, end }: Slice) => partialCount(end - first);
