/** Places of at most `wanted` of `count` items, evenly apart: of a batch in groups, they come from different ones. */
export function spreadPlaces(count: number, wanted: number): number[] {
  const every = Math.max(1, Math.floor(count / Math.max(1, wanted)));
  const length = Math.min(wanted, Math.ceil(count / every));
  return Array.from({ length }, (_, i) => i * every);
}
