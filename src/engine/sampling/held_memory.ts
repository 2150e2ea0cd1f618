import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import type { Model } from "../../model/decoder/model.ts";
import { DecodeWalk } from "./decode_walk.ts";
import { KvCache } from "./kv_cache.ts";
import { PageTree } from "./page_tree.ts";
import { roundSlots, SlotState } from "./slot_state.ts";

/** How large a cache is. */
export interface CacheSize {
  readonly pages: number;
  /** Pages of the longest sequence. */
  readonly pagesPerSlot: number;
}

/** GPU memory that a sampler holds while it is at work. */
export interface Held extends CacheSize {
  readonly cache: KvCache;
  /** A step in one launch; null where the model's steps are launched one by one. */
  readonly walk: DecodeWalk | null;
  readonly tree: PageTree;
  readonly slots: SlotState;
  /** `Model.weightsVersion` of what the cache holds. */
  readonly weightsVersion: number;
}

/**
 * Takes the memory.
 *
 * @throws BufferTooLarge when a layer's keys are more than the device binds
 */
export function openHeld(model: Model, slots: number, size: CacheSize): Held {
  const { gpu, config, weightsVersion } = model;
  const { pages, pagesPerSlot } = size;
  // The rotations are made now: a step that will be repeated must not make tensors.
  model.rotations.prepare(pagesPerSlot * pageTokens);
  const state = new SlotState(gpu, roundSlots(slots), pagesPerSlot, {
    columns: config.vocabularySize,
    hasStates: model.layers.some(({ delta }) => delta !== null),
  });
  try {
    const cache = new KvCache(model, pages, slots, DecodeWalk.isFor(model, pages));
    const walk = cache.joined && new DecodeWalk(model, cache.joined);
    return { ...size, cache, walk, tree: new PageTree(pages), slots: state, weightsVersion };
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
