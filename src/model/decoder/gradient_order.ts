import { layerOf } from "./layout.ts";
import type { Model } from "./model.ts";
import type { Slice } from "./slices.ts";

/** The backward pass is through with everything. */
export const END = -1;

/**
 * When the gradients of each slice are whole: the index of the layer with which the backward pass comes to the last of
 * them, or `END` where the embedding, or a table that it shares, is among them.
 */
export function wholeAt(
  { trainable, config }: Model,
  slices: readonly Slice[],
): ReadonlyMap<Slice, number> {
  const blocks = [...trainable?.blocks() ?? []].map((block) => ({
    ...block,
    layer: block.key.startsWith("embedding") ? END : layerOf(block.key) ?? config.layers,
  }));
  return new Map(slices.map((slice) => {
    const inSlice = blocks.filter(({ segment, first, end }) =>
      segment === slice.tensor && first < slice.end && slice.first < end
    );
    return [slice, Math.min(config.layers, ...inSlice.map(({ layer }) => layer))];
  }));
}
