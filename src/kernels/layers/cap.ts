import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { compose } from "../parts/compose.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import text from "./cap.wgsl" with { type: "text" };

const code = compose(text);

/**
 * x = cap · tanh(x / cap), element by element, in place (Gemma 2, arXiv 2408.00118).
 *
 * @param x f32, its size a multiple of 4
 * @param cap above 0
 * @throws Error when the shape does not fit
 */
export function capInPlace(gpu: Gpu, x: Tensor, cap: number): void {
  expectShape("cap", "x", x, x.shape);
  expectVectors("cap", x.label, x.size);
  const vectors = x.size / 4;
  gpu.dispatch(
    { label: "cap", code },
    { vectors, cap, inverseCap: 1 / cap },
    { x },
    gpu.grid(Math.ceil(vectors / 64)),
    { bytes: 2 * x.bytes },
  );
}
