/**
 * Divides groups evenly into `count` lists, by the groups alone, so that whoever computes which list makes the same
 * sums: the longest group first, each to the list that has the fewest tokens so far. Within a list the groups keep
 * their order. With fewer groups than lists some stay empty.
 *
 * @param groups of sequences that a pass computes together
 * @param lengthOf tokens of a group
 */
export function divideEvenly<Group>(
  groups: readonly Group[],
  lengthOf: (group: Group) => number,
  count: number,
): Group[][] {
  const lengths = groups.map(lengthOf);
  const tokens = new Array<number>(count).fill(0);
  const listOf = new Array<number>(groups.length).fill(0);
  const longestFirst = [...groups.keys()].sort((a, b) => lengths[b] - lengths[a] || a - b);
  for (const group of longestFirst) {
    const list = tokens.indexOf(Math.min(...tokens));
    listOf[group] = list;
    tokens[list] += lengths[group];
  }
  return tokens.map((_, list) => groups.filter((_, group) => listOf[group] === list));
}
