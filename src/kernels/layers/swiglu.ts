import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import type { Activation } from "../parts/activation.ts";
import { compose } from "../parts/compose.ts";
import text from "./swiglu.wgsl" with { type: "text" };

const code = compose(text);

/**
 * h = act(gate) · up (Shazeer 2020).
 *
 * @param gateUp [T, 2·I]: the gate's I columns, then the up projection's
 * @param h [T, I], I a multiple of 4
 */
export function swigluForward(
  gpu: Gpu,
  gateUp: Tensor,
  h: Tensor,
  activation: Activation = "silu",
): void {
  const [rows, columns] = h.shape;
  gpu.dispatch(
    { label: "swiglu", code, defines: { BACKWARD: false, GELU: activation === "gelu" } },
    { rows, columns },
    { gateUp, h },
    gpu.grid(Math.ceil(h.size / 256)),
  );
}

/**
 * The gradient of `swigluForward`.
 *
 * @param dh [T, I]
 * @param dGateUp [T, 2·I]
 */
export function swigluBackward(
  gpu: Gpu,
  gateUp: Tensor,
  dh: Tensor,
  dGateUp: Tensor,
  activation: Activation = "silu",
): void {
  const [rows, columns] = dh.shape;
  gpu.dispatch(
    { label: "swiglu backward", code, defines: { BACKWARD: true, GELU: activation === "gelu" } },
    { rows, columns },
    { gateUp, dh, dGateUp },
    gpu.grid(Math.ceil(dh.size / 256)),
  );
}
