import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { CacheSize, CacheUse } from "./cache_size.ts";
import { DecodeWalk } from "./decode_walk.ts";
import { KvCache } from "./kv_cache.ts";
import { PageTree } from "./page_tree.ts";
import { reachesOf } from "./reach.ts";
import type { PagedReaches } from "./sequence_pages.ts";
import { roundSlots, SlotState } from "./slot_state.ts";

/** GPU memory that a sampler holds while it is at work. */
export interface Held extends CacheSize {
  readonly cache: KvCache;
  /** A step in one launch; null where the model's steps are launched one by one. */
  readonly walk: DecodeWalk | null;
  readonly paged: PagedReaches;
  readonly slots: SlotState;
  /** `Model.weightsVersion` of what the cache holds. */
  readonly weightsVersion: number;
}

/**
 * Takes the memory.
 *
 * @param use by how many sequences
 * @throws BufferTooLarge when a layer's keys are more than the device binds
 */
export function openHeld(
  model: Model,
  { slots, steps }: CacheUse,
  size: CacheSize,
): Held {
  const { gpu, config, weightsVersion } = model;
  const { pages, pagesPerSlot } = size;
  // The rotations are made now: a step that will be repeated must not make tensors.
  model.rotations.prepare(pagesPerSlot * pageTokens);
  const reaches = reachesOf(config);
  const state = new SlotState(gpu, roundSlots(slots), pagesPerSlot, {
    columns: config.vocabularySize,
    reaches: reaches.length,
    hasStates: model.layers.some(({ delta }) => delta !== null),
  });
  try {
    const cache = new KvCache(model, pages, slots, DecodeWalk.isFor(model, pages[0]));
    const walk = cache.joined && new DecodeWalk(model, cache.joined);
    const tree = new PageTree(reaches.map((reach, r) => ({ reach, pages: pages[r] })));
    const paged = { tree, reaches, steps };
    return { ...size, cache, walk, paged, slots: state, weightsVersion };
  } catch (error) {
    state.release();
    throw error;
  }
}

/** Returns it. */
export function releaseHeld({ cache, walk, slots }: Held): void {
  walk?.release();
  cache.release();
  slots.release();
}
