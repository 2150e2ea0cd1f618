import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { compose } from "../parts/compose.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import text from "./output_gate.wgsl" with { type: "text" };

const code = compose(text);

/** Where the gates of a row lie among its other numbers: in runs, one after another at a distance. Multiples of 4. */
export interface GatePlaces {
  /** Numbers before the first run. */
  readonly first: number;
  /** Numbers of a run. */
  readonly run: number;
  /** Numbers from the start of a run to that of the next. */
  readonly distance: number;
}

/** What is multiplied, and by what. */
export interface Gated {
  /** [T, N] */
  readonly x: Tensor;
  /** [T, W], in whose rows the gates lie */
  readonly gates: Tensor;
  readonly places: GatePlaces;
  /** Gates are SiLU's (DeltaNet's), not sigmoids (attention's in Qwen3.5). */
  readonly silu: boolean;
}

function launched(label: string, { x, gates, places, silu }: Gated) {
  const [rows, columns] = x.shape, [, width] = gates.shape;
  expectShape(label, "x", x, [rows, columns]);
  expectShape(label, "gates", gates, [rows, width]);
  const { first, run, distance } = places;
  for (const [name, length] of Object.entries({ columns, width, first, run, distance })) {
    expectVectors(label, name, length);
  }
  const runs = columns / run;
  if (!Number.isInteger(runs) || first + (runs - 1) * distance + run > width) {
    throw new Error(`${label}: ${columns} gates in runs of ${run} do not fit rows of ${width}`);
  }
  return {
    defines: { SILU: silu, GELU: false },
    parameters: {
      rows,
      vectors: columns / 4,
      width: width / 4,
      first: first / 4,
      run: run / 4,
      distance: distance / 4,
    },
    groups: Math.ceil(rows * columns / 4 / 64),
  };
}

/**
 * output = x · act(gate).
 *
 * @param output [T, N]
 * @throws Error when the shapes do not fit
 */
export function outputGateForward(gpu: Gpu, gated: Gated, output: Tensor): void {
  const label = "output gate";
  const { defines, parameters, groups } = launched(label, gated);
  const { x, gates } = gated;
  expectShape(label, "output", output, x.shape);
  gpu.dispatch(
    { label, code, defines: { ...defines, BACKWARD: false } },
    parameters,
    { x, gates, output },
    gpu.grid(groups),
    { bytes: 12 * x.size },
  );
}

/**
 * The gradients of `outputGateForward`.
 *
 * @param dOutput [T, N]
 * @param dx [T, N]
 * @param dGates [T, W], of which the gates' places are written
 * @throws Error when the shapes do not fit
 */
export function outputGateBackward(
  gpu: Gpu,
  gated: Gated,
  { dOutput, dx, dGates }: {
    readonly dOutput: Tensor;
    readonly dx: Tensor;
    readonly dGates: Tensor;
  },
): void {
  const label = "output gate backward";
  const { defines, parameters, groups } = launched(label, gated);
  const { x, gates } = gated;
  expectShape(label, "dOutput", dOutput, x.shape);
  expectShape(label, "dx", dx, x.shape);
  expectShape(label, "dGates", dGates, gates.shape);
  gpu.dispatch(
    { label, code, defines: { ...defines, BACKWARD: true } },
    parameters,
    { x, gates, dOutput, dx, dGates },
    gpu.grid(groups),
    { bytes: 20 * x.size },
  );
}
