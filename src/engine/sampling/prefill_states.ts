/** The states of a DeltaNet's heads, made of what lies in the pages of a cache. */

import type { Tensor } from "../../gpu/tensor.ts";
import { pagedSegments } from "../../kernels/attention/attention_segments.ts";
import { deltaHeads } from "../../kernels/delta/delta_inputs.ts";
import { deltaRuleForward } from "../../kernels/delta/delta_rule.ts";
import { walkArray, walkWords } from "../../kernels/delta/delta_walks.ts";
import { gatherRows } from "../../kernels/layers/gather_rows.ts";
import { deltaOf, roomForHeads } from "../../model/decoder/delta.ts";
import type { Layer, Model } from "../../model/decoder/model.ts";
import type { LayerCache } from "./kv_cache.ts";
import type { Prefill } from "./prefill_plan.ts";
import { prefillWalks } from "./prefill_walks.ts";

/** Rows that are walked at once, which bounds what is made of them. */
const stretchRows = 8192;

/** Tokens of sequences whose states are moved on together. R rows. */
interface Stretch {
  /** u32 [R], their rows of the cache; null without any, where states only begin */
  readonly rows: Tensor | null;
  /** u32 [R, 4] */
  readonly segments: Tensor | null;
  /** u32 [W, 8] */
  readonly walks: Tensor;
}

/** The way through what the sequences of a pass have in the cache when it is done, which every layer walks. */
export interface PassStates {
  /** Null where no sequence has a page yet. */
  readonly pageTable: Tensor | null;
  readonly stretches: readonly Stretch[];
}

/**
 * The way to the states of a pass. A state is made of all tokens before it, from the beginning, wherever these come from:
 * they may have been computed for others, before or in the same pass. That takes no products with weights. A beginning
 * that several have is walked once, and what an earlier pass has walked of a sequence is not walked again.
 *
 * @returns null where no layer has states, or nobody any
 */
export function passStates(model: Model, pass: readonly Prefill[]): PassStates | null {
  const { gpu, layers, tokensPerPass } = model;
  if (pass.length === 0 || layers.every(({ delta }) => delta === null)) return null;
  const pages: number[] = [];
  const firstPages = pass.map(({ sequence }) => {
    const first = pages.length;
    pages.push(...sequence.pageNumbers(0));
    return first;
  });
  const stretches = prefillWalks(pass, Math.min(stretchRows, tokensPerPass));
  return {
    pageTable: pages.length === 0
      ? null
      : gpu.from(Uint32Array.from(pages), [pages.length], "u32", "page table"),
    stretches: stretches.map((parts) => {
      const rows = parts.flatMap(({ place, begin, end }) =>
        Array.from({ length: end - begin }, (_, i) => pass[place].sequence.rowOf(begin + i))
      );
      const segments = parts.filter(({ begin, end }) => end > begin)
        .map(({ place, begin, end }) => ({
          tokens: end - begin,
          position: begin,
          firstPage: firstPages[place],
        }));
      const walks = walkArray(parts.map(({ walk }) => walk));
      const isEmpty = rows.length === 0;
      return {
        rows: isEmpty
          ? null
          : gpu.from(Uint32Array.from(rows), [rows.length], "u32", "walked rows"),
        segments: isEmpty
          ? null
          : gpu.from(pagedSegments(segments), [rows.length, 4], "u32", "segments"),
        walks: gpu.from(walks, [parts.length, walkWords], "u32", "delta walks"),
      };
    }),
  };
}

/**
 * Makes the states of a layer, if it has any, once what they are made of is in the cache.
 *
 * @param output [T, N] receives the values of the tokens that the pass computes; null where only states are wanted
 */
export function makeStates(
  { gpu }: Model,
  layer: Layer,
  cache: LayerCache,
  states: PassStates | null,
  output: Tensor | null,
): void {
  if (!("kept" in cache) || !states) return;
  const { shape, weights } = deltaOf(layer);
  const { pageTable, stretches } = states;
  for (const { rows, segments, walks } of stretches) {
    gpu.scope(() => {
      // Walks without rows read none, but their bindings must hold something.
      const count = rows?.shape[0] ?? 1;
      const { heads, rstd } = roomForHeads(gpu, shape, count);
      const rates = gpu.tensor([count, 2 * shape.valueHeads], "f32", "delta rates");
      if (rows && segments && pageTable) {
        const where = { segments, pageTable };
        deltaHeads(gpu, cache.kept.inputs, where, weights.convolution, shape, { heads, rstd });
        gatherRows(gpu, cache.kept.rates, rows, rates);
      }
      const range = { first: 0, count: walks.shape[0] };
      deltaRuleForward(gpu, { heads, rates, walks }, shape, range, {
        states: cache.states,
        output,
      });
    });
  }
}
