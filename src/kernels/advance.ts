import type { Gpu } from "../gpu/gpu.ts";
import { type ParameterValue, valueAt } from "../gpu/recording/launch_parameters.ts";
import type { Tensor } from "../gpu/tensor.ts";
import code from "./advance.wgsl" with { type: "text" };
import { pageTokens } from "./attention_shape.ts";
import { expectShape } from "./expect_shape.ts";

/** Stands for no token, no cache row. */
export const noToken = 0xffffffff;

/**
 * Where each of S sequences stands while decoding, all u32 [S], all kept on the GPU. A slot is active
 * while `remaining` is above 0. Before the first token is drawn, a slot stands at its prompt's last
 * token: position promptLength − 1.
 */
export interface DecodeSlots {
  /** The last token, input of the next step; the sampler writes it. Of no meaning when inactive. */
  readonly tokens: Tensor;
  /** Position of that token in its sequence. */
  readonly positions: Tensor;
  /** Tokens that may still be drawn. */
  readonly remaining: Tensor;
}

/**
 * The stop tokens of every slot in one array: where each slot's begin and end in it, then the tokens.
 *
 * @param count S; slots beyond the given ones have none
 * @returns u32 [2 S + N]; slots with the same array share its tokens
 */
export function stopArray(
  slots: readonly (readonly number[])[],
  count: number,
): Uint32Array<ArrayBuffer> {
  const ranges = new Uint32Array(2 * count);
  const places = new Map<readonly number[], number>();
  const tokens: number[] = [];
  slots.forEach((stopTokens, s) => {
    let first = places.get(stopTokens);
    if (first === undefined) {
      places.set(stopTokens, first = ranges.length + tokens.length);
      for (const token of stopTokens) tokens.push(token);
    }
    ranges.set([first, first + stopTokens.length], 2 * s);
  });
  const array = new Uint32Array(ranges.length + tokens.length);
  array.set(ranges);
  array.set(tokens, ranges.length);
  return array;
}

/** What the next decode step needs, u32 [S]. */
export interface NextStep {
  /** Row of the key-value cache for the token's key and value; `noToken` for an inactive slot. */
  readonly keyRows: Tensor;
  /** Tokens to attend to, the new one included; 0 for an inactive slot. */
  readonly lengths: Tensor;
}

/**
 * Moves every slot on by the token just drawn: records it, and stops the slot when it is a stop token
 * (which is recorded), when none remain, or when its page table has no place for a further token.
 *
 * @param slots `tokens` holds what was drawn; positions and remaining are updated
 * @param logProbs [S] of the tokens drawn
 * @param pageTable u32 [S, maxPages]: the cache page of every `pageTokens` positions
 * @param stops u32 of `stopArray`, at least [2 S]
 * @param window u32 [steps, S, 2]: row `step` is written, each slot's token and the bits of its log-prob,
 *   `noToken` and 0 for slots that were inactive before
 * @throws Error when the shapes do not fit
 */
export function advanceSlots(
  gpu: Gpu,
  slots: DecodeSlots,
  { logProbs, pageTable, stops }: {
    readonly logProbs: Tensor;
    readonly pageTable: Tensor;
    readonly stops: Tensor;
  },
  { window, step }: { readonly window: Tensor; readonly step: ParameterValue },
  next: NextStep,
): void {
  const operation = "advanceSlots";
  const [count, maxPages] = pageTable.shape;
  const { tokens, positions, remaining } = slots;
  const { keyRows, lengths } = next;
  expectShape(operation, "pageTable", pageTable, [-1, -1], "u32");
  for (const [name, t] of Object.entries({ tokens, positions, remaining, keyRows, lengths })) {
    expectShape(operation, name, t, [count], "u32");
  }
  expectShape(operation, "logProbs", logProbs, [count]);
  expectShape(operation, "stops", stops, [-1], "u32");
  expectShape(operation, "window", window, [-1, count, 2], "u32");
  if (stops.shape[0] < 2 * count) {
    throw new Error(`${operation}: ${stops.shape[0]} stop words for ${count} slots`);
  }
  const first = valueAt(step, 0);
  if (first < 0 || first >= window.shape[0]) {
    throw new Error(`${operation}: step ${first} of a window of ${window.shape[0]}`);
  }
  gpu.dispatch(
    { label: "advance", code, defines: { PAGE: pageTokens } },
    { slots: count, maxPages, stepInWindow: step },
    {
      tokens,
      logProbs,
      pageTable,
      stops,
      positions,
      remaining,
      window,
      keyRows,
      lengths,
    },
    [Math.ceil(count / 64)],
  );
}
