import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import code from "./add.wgsl" with { type: "text" };
import { expectShape, expectVectors } from "../parts/expect_shape.ts";

/**
 * target += addend, element by element.
 *
 * @param addend f32, its size a multiple of 4
 * @param target of the same shape, in another buffer
 * @throws Error when the shapes do not fit
 */
export function add(gpu: Gpu, addend: Tensor, target: Tensor): void {
  expectShape("add", "target", target, addend.shape);
  expectShape("add", "addend", addend, addend.shape);
  expectVectors("add", addend.label, addend.size);
  const vectors = addend.size / 4;
  gpu.dispatch(
    { label: "add", code },
    { vectors },
    { addend, target_sum: target },
    gpu.grid(Math.ceil(vectors / 64)),
  );
}
