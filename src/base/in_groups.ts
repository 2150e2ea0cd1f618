/** Items that follow one another, `size` of them in each group. */
export function inGroups<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from(
    { length: items.length / size },
    (_, group) => items.slice(group * size, (group + 1) * size),
  );
}
