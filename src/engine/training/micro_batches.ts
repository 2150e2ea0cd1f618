/**
 * Cuts a batch into runs of at most `maximum` tokens, in order. An item longer than that is a run of
 * its own: it cannot be cut.
 */
export function cutByTokens<Item>(
  items: readonly Item[],
  lengthOf: (item: Item) => number,
  maximum: number,
): Item[][] {
  const runs: Item[][] = [];
  let used = Infinity;
  for (const item of items) {
    const length = lengthOf(item);
    if (used + length > maximum) {
      runs.push([]);
      used = 0;
    }
    runs[runs.length - 1].push(item);
    used += length;
  }
  return runs;
}
