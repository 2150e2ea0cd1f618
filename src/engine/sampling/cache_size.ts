import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import type { ModelConfig } from "../../model/decoder/config.ts";
import { mostPagesHeld, reachesOf } from "./reach.ts";

/** How large a cache is. */
export interface CacheSize {
  /** By reach. */
  readonly pages: readonly number[];
  /** Pages of the text of the longest sequence. */
  readonly pagesPerSlot: number;
}

/** How a cache is used. */
export interface CacheUse {
  /** Sequences at once, at most. */
  readonly slots: number;
  /** Tokens that they are decoded by at a time, at most. */
  readonly steps: number;
}

/**
 * Pages of a reach with a window beyond those of the sequences that are decoded: so many of a text a pass computes, whose
 * tokens have room then though everybody is at work. Otherwise they hold beginnings that others may go on from.
 */
export const passPages = 64;

/**
 * Pages of each reach of a model in which sequences have `pages` pages of text together.
 *
 * @returns as many where a reach looks back to the beginning; of a window at most what all sequences together can see of
 *   their texts, and room for a pass
 */
export function pagesOfReaches(
  config: ModelConfig,
  pages: number,
  { slots, steps }: CacheUse,
): number[] {
  return reachesOf(config).map((reach) =>
    reach.window === null ? pages : Math.min(pages, slots * mostPagesHeld(reach, steps) + passPages)
  );
}

/** The longest text, in pages, that a cache of so many pages of each reach can hold what is seen of. */
export function mostPagesOfText(
  config: ModelConfig,
  pages: readonly number[],
  steps: number,
): number {
  return Math.min(
    Math.ceil(config.maxPositions / pageTokens),
    ...reachesOf(config).map((reach, r) =>
      pages[r] >= mostPagesHeld(reach, steps) ? Infinity : pages[r]
    ),
  );
}
