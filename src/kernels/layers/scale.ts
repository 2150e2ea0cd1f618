import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import code from "./scale.wgsl" with { type: "text" };

/**
 * x · factor, element by element.
 *
 * @param x f32, its size a multiple of 4
 * @returns of the same shape
 * @throws Error when the shape does not fit
 */
export function scaled(gpu: Gpu, x: Tensor, factor: number): Tensor {
  expectShape("scale", "x", x, x.shape);
  expectVectors("scale", x.label, x.size);
  const vectors = x.size / 4;
  const y = gpu.tensor(x.shape, "f32", x.label);
  gpu.dispatch(
    { label: "scale", code },
    { vectors, factor },
    { x, y },
    gpu.grid(Math.ceil(vectors / 64)),
    { bytes: 2 * x.bytes },
  );
  return y;
}
