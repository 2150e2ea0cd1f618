import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import type { Slice } from "./slices.ts";

/** What AdamW keeps of one slice, f32. */
export interface SliceState {
  readonly first: Tensor;
  readonly second: Tensor;
  /** The weights themselves, where the model reads them rounded to 16 bits; else null. */
  readonly master: Tensor | null;
}

/** AdamW's moments, and masters, of the slices that a process owns; those of the others take no memory here. */
export class AdamwState {
  /** Flat tensors that hold all moments. */
  readonly moments: readonly Tensor[];
  /** Flat tensors that hold all masters. */
  readonly masters: readonly Tensor[];
  readonly #of = new Map<Slice, SliceState>();

  /**
   * @param own slices, in ascending order
   * @param weights the flat tensors that are cut into slices
   */
  constructor(private readonly gpu: Gpu, own: readonly Slice[], weights: readonly Tensor[]) {
    const moments: Tensor[] = [];
    const masters: Tensor[] = [];
    for (const [tensor, slices] of Map.groupBy(own, ({ tensor }) => tensor)) {
      const size = slices.reduce((sum, { first, end }) => sum + end - first, 0);
      const first = gpu.zeros([size], "f32", "first moments");
      const second = gpu.zeros([size], "f32", "second moments");
      const master = weights[tensor].dtype === "f32" ? null : gpu.zeros([size], "f32", "masters");
      moments.push(first, second);
      if (master) masters.push(master);
      let at = 0;
      for (const slice of slices) {
        const length = slice.end - slice.first;
        const part = (of: Tensor) => of.view(at, [length]);
        this.#of.set(slice, {
          first: part(first),
          second: part(second),
          master: master && part(master),
        });
        at += length;
      }
    }
    this.moments = moments;
    this.masters = masters;
  }

  /** Undefined for a slice that another process owns. */
  of(slice: Slice): SliceState | undefined {
    return this.#of.get(slice);
  }

  /** Returns the GPU memory. */
  release(): void {
    this.gpu.release(...this.moments, ...this.masters);
  }
}
