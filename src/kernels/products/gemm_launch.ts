import type { Gpu } from "../../gpu/gpu.ts";
import type { LaunchCost } from "../../gpu/recording/submit_pacing.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import uniformText from "./gemm.wgsl" with { type: "text" };
import fewRowsText from "./gemm_few_rows.wgsl" with { type: "text" };
import matrixText from "./gemm_matrix.wgsl" with { type: "text" };
import runsText from "./gemm_matrix_runs.wgsl" with { type: "text" };
import { type MatrixTile, strideOf } from "./gemm_matrix_tiles.ts";
import type { FactorRuns, FurtherTerms } from "./gemm_options.ts";
import type { GemmProduct } from "./gemm_product.ts";
import streamedText from "./gemm_streamed.wgsl" with { type: "text" };
import tiledText from "./gemm_tiled.wgsl" with { type: "text" };
import { gemmLayouts, gemmOperation, rowsInRegisters, runsVariants } from "./gemm_variants.ts";
import { composeProducts } from "./parts/compose.ts";
import { halfRows, isScanned } from "./half_rows.ts";

/** Lanes of a CPU core that work as one; a wider tile is more columns for each. */
const lanesOfCore = 8;

const uniformCode = composeProducts(uniformText);
const fewRowsCode = composeProducts(fewRowsText);
const tiledCode = composeProducts(tiledText);
const streamedCode = composeProducts(streamedText);
const matrixCode = composeProducts(matrixText);
const runsCode = composeProducts(runsText);

/** The texts of all variants. */
export const gemmTexts: readonly string[] = [
  uniformCode,
  fewRowsCode,
  tiledCode,
  streamedCode,
  matrixCode,
  runsCode,
];

/** Launches a whole product with the variant that it asks for, or the one that suits the device. */
export function launchGemm(gpu: Gpu, product: GemmProduct, cost: LaunchCost): void {
  const { label, layout, storage, a, b, c, rows, columns, depth, options } = product;
  if (options.runs) return launchRuns(gpu, product, options.runs, cost);
  const { bias, residual, accumulate, scale, gated, further } = options;
  const shared = {
    LAYOUT: gemmLayouts.indexOf(layout),
    STORAGE: storage,
    BIAS: bias !== undefined,
    RESIDUAL: residual !== undefined,
    ACCUMULATE: accumulate === true,
    SCALE: scale !== undefined,
    GATED: gated !== undefined,
    KEPT: gated !== undefined && gated.kept !== null,
    GELU: gated?.activation === "gelu",
    ADAPTED: further ? further.projections.length : 0,
  };
  const parameters = {
    rows,
    columns,
    depth,
    strideA: a.shape[1],
    strideB: b.shape[1],
    strideC: c.shape[1],
    firstC: options.firstColumn ?? 0,
    firstA: options.firstColumnOfA ?? 0,
    firstB: options.firstColumnOfB ?? 0,
    scale: scale ?? 1,
    ...(further && furtherParameters(further)),
  };
  const tensors: Record<string, Tensor> = { a, b, c };
  if (bias) tensors.bias = bias;
  if (residual) tensors.residual = residual;
  if (gated?.kept) tensors.gateUp = gated.kept;
  if (further) Object.assign(tensors, { inner: further.inner, further: further.further });
  const variant = options.variant ??
    gpu.choices.of(gemmOperation, { layout, storage, rows, columns, depth });
  if (variant.sharing === "uniform") {
    const { lanes: LANES, rows: ROWS } = variant;
    const isFew = ROWS <= rowsInRegisters;
    if (isFew && layout !== "nt") {
      throw new Error(`${label}: variant ${variant.name} is for nt, not ${layout}`);
    }
    const [columnGroups, rowGroups] = [Math.ceil(columns / (LANES * 4)), Math.ceil(rows / ROWS)];
    // In tn a second group of columns was tried: a tenth slower there.
    const tile = layout === "tn"
      ? { LANES, GROUPS: 1, ROWS }
      : { LANES: lanesOfCore, GROUPS: LANES / lanesOfCore, ROWS };
    gpu.dispatch(
      isFew
        ? { label, code: fewRowsCode, defines: { ...shared, LANES, ROWS } }
        : { label, code: uniformCode, defines: { ...shared, ...tile } },
      isFew ? parameters : { ...parameters, tileRows: ROWS },
      tensors,
      layout === "nt" ? [columnGroups, rowGroups] : [rowGroups, columnGroups],
      cost,
    );
  } else if (variant.sharing === "matrix") {
    if (layout === "tn") throw new Error(`${label}: variant ${variant.name} is not for tn`);
    const { tile } = variant;
    const FULL = tile.factor === "f32";
    const SCANNED = !FULL && !options.halfRows && isScanned(rows, depth);
    const HALVES = !FULL && !SCANNED;
    const sizes = { ...definesOf(tile), PAIR: tile.isPair, FULL, SCANNED, HALVES };
    gpu.scope(() => {
      let strideA = parameters.strideA;
      if (HALVES) {
        const { firstA: first } = parameters;
        const { halves, scales } = options.halfRows ??
          halfRows(gpu, a, { rows, first, columns: depth });
        Object.assign(tensors, { a: halves, rowScales: scales });
        [, strideA] = halves.shape;
      }
      gpu.dispatch(
        { label, code: matrixCode, defines: { ...shared, ...sizes } },
        { ...parameters, strideA },
        tensors,
        workgroupsOf(tile, rows, columns),
        cost,
      );
    });
  } else if (variant.sharing === "streamed") {
    if (layout !== "nt") throw new Error(`${label}: variant ${variant.name} is for nt`);
    const { rows: ROWS, columns: COLUMNS, terms: TERMS, lanes: LANES } = variant.tile;
    gpu.dispatch(
      { label, code: streamedCode, defines: { ...shared, ROWS, COLUMNS, TERMS, LANES } },
      parameters,
      tensors,
      [Math.ceil(columns / COLUMNS), Math.ceil(rows / ROWS)],
      cost,
    );
  } else {
    const { rm: RM, rn: RN, lx: LX, ly: LY, tk: TK } = variant.tile;
    // With an adapter's terms there are no registers left for it.
    const AHEAD = variant.isAhead && !further;
    gpu.dispatch(
      { label, code: tiledCode, defines: { ...shared, RM, RN, LX, LY, TK, AHEAD } },
      parameters,
      tensors,
      [Math.ceil(columns / (LX * RN)), Math.ceil(rows / (LY * RM))],
      cost,
    );
  }
}

function definesOf(
  { m: MM, n: MN, k: MK, sx: SX, sy: SY, rm: RM, rn: RN, tk: TK, ...tile }: MatrixTile,
) {
  const { subgroup: SUBGROUP, isPinned: PINNED, writes: WRITES, factor: ELEMENT } = tile;
  const STRIDE = strideOf({ tk: TK, factor: ELEMENT });
  return { MM, MN, MK, SX, SY, RM, RN, TK, STRIDE, ELEMENT, SUBGROUP, PINNED, WRITES };
}

function workgroupsOf({ m, n, sx, sy, rm, rn }: MatrixTile, rows: number, columns: number) {
  return [Math.ceil(columns / (sx * rn * n)), Math.ceil(rows / (sy * rm * m))] as const;
}

/** Sums over tokens on matrix units. */
function launchRuns(
  gpu: Gpu,
  { label, a, b, c, rows, columns, options }: GemmProduct,
  { runs: { slabs }, largestA, largestB, headroom }: FactorRuns,
  cost: LaunchCost,
): void {
  const variant = options.variant ?? runsVariants(gpu.tuning, rows, columns)[0];
  if (variant.sharing !== "matrix") {
    throw new Error(`${label}: variant ${variant.name} takes no runs`);
  }
  const { tile } = variant;
  gpu.dispatch(
    {
      label,
      code: runsCode,
      defines: definesOf(tile),
    },
    {
      rows,
      columns,
      slabs: slabs.shape[0],
      strideA: a.shape[1],
      strideB: b.shape[1],
      strideC: c.shape[1],
      firstA: options.firstColumnOfA ?? 0,
      headroom,
    },
    { a, b, c, slabs, largestA, largestB },
    workgroupsOf(tile, rows, columns),
    cost,
  );
}

function furtherParameters({ further, projections }: FurtherTerms): Record<string, number> {
  const parameters: Record<string, number> = { rank: further.shape[1] };
  projections.forEach(({ firstColumn, columns, firstRow }, n) => {
    parameters[`from${n}`] = firstColumn;
    parameters[`to${n}`] = firstColumn + columns;
    parameters[`row${n}`] = firstRow;
  });
  return parameters;
}
