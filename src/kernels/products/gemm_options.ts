import type { Tensor } from "../../gpu/tensor.ts";
import type { Activation } from "../parts/activation.ts";
import type { HalfRows } from "./half_rows.ts";
import type { GemmVariant } from "./gemm_variants.ts";
import type { TokenRuns } from "./token_runs.ts";

/** Choices and extra work of a product; all may be left out. */
export interface GemmOptions {
  /** Added to every row of C (nt). [columns, padded to a multiple of 4] */
  readonly bias?: Tensor;
  /** Added to C. [rows, stride of C]; not C itself. */
  readonly residual?: Tensor;
  /** The sums continue from what C holds. */
  readonly accumulate?: boolean;
  /** Overrides the choice by device. All give the same bits. */
  readonly variant?: GemmVariant;
  /** Where the columns of C that are computed begin, a multiple of 4; 0 by default. */
  readonly firstColumn?: number;
  /** Columns of C to compute when that is fewer than its stride. */
  readonly columns?: number;
  /** Terms of each sum when that is fewer than the stride of A (nt, nn). */
  readonly depth?: number;
  /**
   * Where in its rows the part of A begins that is used, a multiple of 4: the terms of the sums (nt, nn) or
   * the rows of C (tn). 0 by default.
   */
  readonly firstColumnOfA?: number;
  /** Where in its rows the columns of B begin that make C (nn, tn), a multiple of 4; 0 by default. */
  readonly firstColumnOfB?: number;
  /** Multiplies product and bias; not with `accumulate`. */
  readonly scale?: number;
  /**
   * The product is a gate and what it lets through, side by side, and C = act(gate) · up (nt, and nothing else with
   * it): C has half as many columns as B rows. `kept` [rows, 2 · columns of C] receives gate and up themselves.
   */
  readonly gated?: { readonly kept: Tensor | null; readonly activation?: Activation };
  /** Terms with which the sums go on when bias and residual have come to them (nt, from the first column on). */
  readonly further?: FurtherTerms | null;
  /** What `halfRowsOf` made of A, for several products of it. */
  readonly halfRows?: HalfRows | null;
  /** The runs of the tokens that are summed and added to C (tn): on matrix units, with `accumulate` and nothing else. */
  readonly runs?: FactorRuns | null;
  /** Shown in errors and profiles. */
  readonly label?: string;
}

/** Runs of the tokens that both factors of a sum over tokens have, see gemm_matrix_runs.wgsl. */
export interface FactorRuns {
  readonly runs: TokenRuns;
  /** u32 [runs] of `largestOfRuns` */
  readonly largestA: Tensor;
  /** u32 [runs] */
  readonly largestB: Tensor;
  /** A's elements are at most 2^headroom times as large. */
  readonly headroom: number;
}

/** What an adapter adds to a product x·Wᵀ: for each projection among the rows of W, inner · further ᵀ. */
export interface FurtherTerms {
  /** [rows, projections · rank], one projection beside the other */
  readonly inner: Tensor;
  /** [≥ last row of a projection, rank] */
  readonly further: Tensor;
  /** At most four, in ascending order: with `gated` both halves. All numbers are multiples of 4. */
  readonly projections: readonly {
    /** Where its columns begin in those of the product. */
    readonly firstColumn: number;
    readonly columns: number;
    /** Where its rows begin in `further`. */
    readonly firstRow: number;
  }[];
}
