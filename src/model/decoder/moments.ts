import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import type { Slice } from "./slices.ts";

/** AdamW's moments of one slice, f32. */
export interface SliceMoments {
  readonly first: Tensor;
  readonly second: Tensor;
}

/** AdamW's moments of the slices that a process owns; those of the others take no memory here. */
export class Moments {
  /** Flat tensors that hold all moments. */
  readonly tensors: readonly Tensor[];
  readonly #of = new Map<Slice, SliceMoments>();

  /** @param own slices, in ascending order */
  constructor(private readonly gpu: Gpu, own: readonly Slice[]) {
    const tensors: Tensor[] = [];
    for (const slices of Map.groupBy(own, ({ tensor }) => tensor).values()) {
      const size = slices.reduce((sum, { first, end }) => sum + end - first, 0);
      const first = gpu.zeros([size], "f32", "first moments");
      const second = gpu.zeros([size], "f32", "second moments");
      tensors.push(first, second);
      let at = 0;
      for (const slice of slices) {
        const shape = [slice.end - slice.first];
        this.#of.set(slice, { first: first.view(at, shape), second: second.view(at, shape) });
        at += shape[0];
      }
    }
    this.tensors = tensors;
  }

  /** Undefined for a slice that another process owns. */
  of(slice: Slice): SliceMoments | undefined {
    return this.#of.get(slice);
  }

  /** Returns the GPU memory. */
  release(): void {
    this.gpu.release(...this.tensors);
  }
}
