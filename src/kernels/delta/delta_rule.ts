import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { compose } from "../parts/compose.ts";
import { expectShape } from "../parts/expect_shape.ts";
import columnsText from "./delta_rule_columns.wgsl" with { type: "text" };
import forwardText from "./delta_rule.wgsl" with { type: "text" };
import rowsText from "./delta_rule_rows.wgsl" with { type: "text" };
import valueSumsText from "./delta_value_sums.wgsl" with { type: "text" };
import { type DeltaShape, deltaWidths, expectDeltaShape, keptEvery } from "./delta_shape.ts";
import { walkWords } from "./delta_walks.ts";
import delta_column from "./parts/delta_column.wgsl" with { type: "text" };
import delta_walk from "./parts/delta_walk.wgsl" with { type: "text" };

const [forwardCode, columnsCode, rowsCode, valueSumsCode] = [
  forwardText,
  columnsText,
  rowsText,
  valueSumsText,
].map((text) => compose(text, { delta_column, delta_walk }));

/** Columns or rows of a state that a workgroup has; more workgroups, each of few lanes, hide the walk's waiting. */
const lanesOf = (gpu: Gpu) => gpu.tuning.lanes === "cpu" ? 8 : 32;

/** What is walked. T rows. */
export interface DeltaRows {
  /** [T, M] of `deltaHeads` */
  readonly heads: Tensor;
  /** [T, 2·Vh] of `deltaInputs` */
  readonly rates: Tensor;
  /** u32 [W, 8] of `walkArray` */
  readonly walks: Tensor;
}

function expectRows(
  operation: string,
  { heads, rates, walks }: DeltaRows,
  shape: DeltaShape,
): number {
  expectDeltaShape(operation, shape);
  const [tokens] = heads.shape;
  expectShape(operation, "heads", heads, [tokens, deltaWidths(shape).inputs]);
  expectShape(operation, "rates", rates, [tokens, 2 * shape.valueHeads]);
  expectShape(operation, "walks", walks, [-1, walkWords], "u32");
  return tokens;
}

function expectStates(operation: string, states: Tensor, shape: DeltaShape): void {
  const { valueHeads, keyDim, valueDim } = shape;
  expectShape(operation, "states", states, [-1, valueHeads, keyDim, valueDim]);
}

/** The walks of a list that a launch takes. */
export interface WalkRange {
  readonly first: number;
  readonly count: number;
}

/**
 * The gated delta rule (Yang et al. 2024) with a state for each sequence and value head.
 *
 * @param states [·, Vh, Dk, Dv] that walks begin with and leave; null where none does
 * @param output [·, N]; null where only states are wanted
 * @param errors [2, T, N], the first half receives what `deltaRuleBackward` needs; null where nobody asks
 * @param isOfSlots a walk without rows writes zeros to its row of the output
 * @throws Error when a tensor's shape is not the documented one
 */
export function deltaRuleForward(
  gpu: Gpu,
  rows: DeltaRows,
  shape: DeltaShape,
  range: WalkRange,
  { states, output, errors = null, isOfSlots = false }: {
    readonly states: Tensor | null;
    readonly output: Tensor | null;
    readonly errors?: Tensor | null;
    readonly isOfSlots?: boolean;
  },
): void {
  const operation = "delta rule";
  const tokens = expectRows(operation, rows, shape);
  const { keyHeads, valueHeads, keyDim: DK, valueDim: DV } = shape;
  if (states) expectStates(operation, states, shape);
  if (output) expectShape(operation, "output", output, [-1, valueHeads * DV]);
  if (errors) expectShape(operation, "errors", errors, [2, tokens, valueHeads * DV]);
  if (range.count === 0) return;
  const LANES = lanesOf(gpu);
  const blocks = Math.ceil(DV / LANES);
  gpu.dispatch(
    {
      label: operation,
      code: forwardCode,
      defines: {
        ...{ DK, DV, LANES, SLOTS: isOfSlots, STATES: states !== null },
        ...{ OUTPUT: output !== null, KEEP: errors !== null },
      },
    },
    { firstWalk: range.first, walks: range.count, keyHeads, valueHeads, blocks },
    {
      ...rows,
      ...(output ? { output } : {}),
      ...(errors ? { errors } : {}),
      ...(states ? { states } : {}),
    },
    gpu.grid(range.count * valueHeads * blocks),
    { bytes: 4 * rows.heads.size },
  );
}

/** What the backward pass of the delta rule needs. */
export interface DeltaRuleMade extends DeltaRows {
  /** [2, T, N], of which the second half is scratch */
  readonly errors: Tensor;
  /** [P, Vh, Dk, Dv], the last states of beginnings that several sequences share; null without any */
  readonly states: Tensor | null;
  /** Walks that begin with zeros. */
  readonly beginnings: number;
}

/**
 * The gradients of `deltaRuleForward`. States are kept of one token in `keptEvery` and made again between them.
 *
 * @param dOutput [T, N]
 * @param gradients filled: dHeads [3, T, Vh, Dk], of queries and of keys, and scratch; dInputs [T, M], its values' columns; slopes
 *   [T, 2·Vh], of the decays' logarithms and of the strengths
 * @throws Error when a tensor's shape is not the documented one
 */
export function deltaRuleBackward(
  gpu: Gpu,
  made: DeltaRuleMade,
  shape: DeltaShape,
  dOutput: Tensor,
  { dHeads, dInputs, slopes }: {
    readonly dHeads: Tensor;
    readonly dInputs: Tensor;
    readonly slopes: Tensor;
  },
): void {
  const operation = "delta rule backward";
  const { heads, rates, walks, errors, states, beginnings } = made;
  const tokens = expectRows(operation, made, shape);
  const { keyHeads, valueHeads, keyDim: DK, valueDim: DV } = shape;
  const { inputs, values } = deltaWidths(shape);
  expectShape(operation, "errors", errors, [2, tokens, values]);
  expectShape(operation, "dOutput", dOutput, [tokens, values]);
  expectShape(operation, "dHeads", dHeads, [3, tokens, valueHeads, DK]);
  expectShape(operation, "dInputs", dInputs, [tokens, inputs]);
  expectShape(operation, "slopes", slopes, [tokens, 2 * valueHeads]);
  if (states) expectStates(operation, states, shape);
  const all = walks.shape[0], others = all - beginnings;
  const STATES = states !== null;
  if ((others > 0) !== STATES) throw new Error(`${operation}: states without walks from them`);
  const LANES = lanesOf(gpu);
  const sizes = { keyHeads, valueHeads, tokens, firstChild: beginnings };
  const bytes = 4 * heads.size;
  // Those that go on from others first: their gradients are the start of these.
  const ranges = [{ first: beginnings, count: others }, { first: 0, count: beginnings }]
    .filter(({ count }) => count > 0);
  gpu.scope(() => {
    const dStates = states
      ? gpu.tensor([others, valueHeads, DK, DV], "f32", "delta state gradients")
      : null;
    for (const { first, count } of ranges) {
      const blocks = Math.ceil(DV / LANES);
      gpu.dispatch(
        { label: "delta rule columns", code: columnsCode, defines: { DK, DV, LANES, STATES } },
        { ...sizes, firstWalk: first, walks: count, blocks },
        { heads, rates, walks, dOutput, errors, ...(dStates ? { dStates } : {}) },
        gpu.grid(count * valueHeads * blocks),
        { bytes },
      );
    }
    const EVERY = keptEvery;
    // Before row 0 no state is kept.
    const chunks = Math.ceil(tokens / EVERY);
    const kept = gpu.tensor([chunks + others, valueHeads, DK, DV], "f32", "kept delta states");
    for (const REVERSED of [false, true]) {
      const own = REVERSED ? dStates : states;
      const blocks = Math.ceil(DK / LANES);
      gpu.dispatch(
        {
          label: "delta rule rows",
          code: rowsCode,
          defines: { DK, DV, LANES, EVERY, STATES, REVERSED },
        },
        { ...sizes, walks: all, blocks, chunks },
        { heads, rates, walks, dOutput, errors, dHeads, ...(own ? { states: own } : {}), kept },
        gpu.grid(all * valueHeads * blocks),
        { bytes },
      );
    }
  });
  gpu.dispatch(
    { label: "delta value sums", code: valueSumsCode, defines: {} },
    { tokens, heads: valueHeads, vectors: DV / 4, before: keyHeads * DK / 2, rows: DK / 4 },
    { rates, errors, dHeads, dInputs, slopes },
    gpu.grid(Math.ceil(tokens * valueHeads / 16)),
    { bytes: 12 * tokens * values },
  );
}
