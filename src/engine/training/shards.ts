/**
 * Cuts a batch into parts that depend on the batch alone, so that whoever computes which part makes the
 * same sums: the longest group first, each to the part that has the fewest tokens so far. Within a part
 * the groups keep their order. With fewer groups than parts some parts stay empty.
 *
 * @param groups of sequences that a pass computes together
 * @param lengthOf tokens of a group
 */
export function cutIntoShards<Group>(
  groups: readonly Group[],
  lengthOf: (group: Group) => number,
  shards: number,
): Group[][] {
  const lengths = groups.map(lengthOf);
  const tokens = new Array<number>(shards).fill(0);
  const shardOf = new Array<number>(groups.length).fill(0);
  const longestFirst = [...groups.keys()].sort((a, b) => lengths[b] - lengths[a] || a - b);
  for (const group of longestFirst) {
    const shard = tokens.indexOf(Math.min(...tokens));
    shardOf[group] = shard;
    tokens[shard] += lengths[group];
  }
  return tokens.map((_, shard) => groups.filter((_, group) => shardOf[group] === shard));
}
