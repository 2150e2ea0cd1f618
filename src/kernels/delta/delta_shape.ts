import { expectVectors } from "../parts/expect_shape.ts";

/** The heads of a gated DeltaNet layer. */
export interface DeltaShape {
  /** Kh, query heads and as many key heads; divides `valueHeads` */
  readonly keyHeads: number;
  /** Vh, a multiple of 4 */
  readonly valueHeads: number;
  /** Dk, a multiple of 4 */
  readonly keyDim: number;
  /** Dv, a multiple of 4 */
  readonly valueDim: number;
  /** L, of the convolution */
  readonly taps: number;
}

/** Numbers of a token's row. */
export interface DeltaWidths {
  /** M: queries, keys and values, which are convolved */
  readonly inputs: number;
  /** N: values alone */
  readonly values: number;
  /** Of what the projections give: inputs, z (N), then b and a (Vh each). */
  readonly projected: number;
}

/** The widths of a layer. */
export function deltaWidths({ keyHeads, valueHeads, keyDim, valueDim }: DeltaShape): DeltaWidths {
  const values = valueHeads * valueDim;
  const inputs = 2 * keyHeads * keyDim + values;
  return { inputs, values, projected: inputs + values + 2 * valueHeads };
}

/** Numbers of a layer's state for a sequence: S [Dk, Dv] of each value head. */
export const stateSize = ({ valueHeads, keyDim, valueDim }: DeltaShape): number =>
  valueHeads * keyDim * valueDim;

/** A gradient keeps the state before one row in so many: the memory of more, or the time that it takes to make them again. */
export const keptEvery = 16;

/** @throws Error when the kernels do not take the heads */
export function expectDeltaShape(operation: string, shape: DeltaShape): void {
  const { keyHeads, valueHeads, keyDim, valueDim } = shape;
  expectVectors(operation, "a key head", keyDim);
  expectVectors(operation, "a value head", valueDim);
  expectVectors(operation, "the list of value heads", valueHeads);
  if (valueHeads % keyHeads !== 0) {
    throw new Error(
      `${operation}: ${valueHeads} value heads, no multiple of ${keyHeads} key heads`,
    );
  }
}
