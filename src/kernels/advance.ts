import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import code from "./advance.wgsl" with { type: "text" };
import { pageTokens } from "./attention_shape.ts";
import { expectShape } from "./expect_shape.ts";

/** Stands for no token, no cache row. */
export const noToken = 0xffffffff;

/** Most stop tokens a decode step compares with. */
export const maxStopTokens = 4;

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
  /** Names the sequence to the random number generator. */
  readonly sequenceIds: Tensor;
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
 * @param window tokens u32 and logProbs f32, both [steps, S]: row `step` is written, with `noToken` and
 *   0 for slots that were inactive before
 * @param stopTokens at most 4
 * @throws Error when the shapes do not fit or there are too many stop tokens
 */
export function advanceSlots(
  gpu: Gpu,
  slots: DecodeSlots,
  logProbs: Tensor,
  pageTable: Tensor,
  window: { readonly tokens: Tensor; readonly logProbs: Tensor; readonly step: number },
  stopTokens: readonly number[],
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
  expectShape(operation, "window tokens", window.tokens, [-1, count], "u32");
  expectShape(operation, "window log-probs", window.logProbs, window.tokens.shape);
  if (window.step < 0 || window.step >= window.tokens.shape[0]) {
    throw new Error(`${operation}: step ${window.step} of a window of ${window.tokens.shape[0]}`);
  }
  if (stopTokens.length > maxStopTokens) {
    throw new Error(
      `${operation}: ${stopTokens.length} stop tokens, expected at most ${maxStopTokens}`,
    );
  }
  const [stop0 = noToken, stop1 = noToken, stop2 = noToken, stop3 = noToken] = stopTokens;
  gpu.dispatch(
    { label: "advance", code, defines: { PAGE: pageTokens } },
    { slots: count, maxPages, stepInWindow: window.step, stop0, stop1, stop2, stop3 },
    {
      tokens,
      logProbs,
      pageTable,
      positions,
      remaining,
      outputTokens: window.tokens,
      outputLogProbs: window.logProbs,
      keyRows,
      lengths,
    },
    [Math.ceil(count / 64)],
  );
}
