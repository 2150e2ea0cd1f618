/** Stretches of time: [begin, end) in milliseconds. */
export type TimeInterval = readonly [begin: number, end: number];

/** Intervals ascending, those that touch or overlap made one, and none empty. */
export function union(intervals: readonly TimeInterval[]): TimeInterval[] {
  const sorted = intervals.filter(([begin, end]) => begin < end).sort((a, b) => a[0] - b[0]);
  const result: [number, number][] = [];
  for (const [begin, end] of sorted) {
    const last = result.at(-1);
    if (last && begin <= last[1]) last[1] = Math.max(last[1], end);
    else result.push([begin, end]);
  }
  return result;
}

/** Stretches of `intervals` that are in none of `others`. */
export function without(
  intervals: readonly TimeInterval[],
  others: readonly TimeInterval[],
): TimeInterval[] {
  const removed = union(others);
  const result: TimeInterval[] = [];
  let first = 0;
  for (const [begin, end] of union(intervals)) {
    while (first < removed.length && removed[first][1] <= begin) first++;
    let from = begin;
    for (let r = first; r < removed.length && removed[r][0] < end; r++) {
      if (removed[r][0] > from) result.push([from, removed[r][0]]);
      from = Math.max(from, removed[r][1]);
    }
    if (from < end) result.push([from, end]);
  }
  return result;
}

/** Stretches of `intervals` that lie within `stretch`. */
export function within(
  intervals: readonly TimeInterval[],
  [first, last]: TimeInterval,
): TimeInterval[] {
  return intervals.map((
    [begin, end],
  ): TimeInterval => [Math.max(begin, first), Math.min(end, last)])
    .filter(([begin, end]) => begin < end);
}

/** How long they are together. */
export function lengthOf(intervals: readonly TimeInterval[]): number {
  return intervals.reduce((sum, [begin, end]) => sum + end - begin, 0);
}
