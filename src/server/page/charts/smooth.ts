/**
 * Each value replaced by the mean of up to `window` values around it, fewer at the ends; steps that have no
 * value keep none and do not count, so that a policy's curve is smoothed over its own steps.
 */
export function smooth(values: readonly (number | null)[], window: number): (number | null)[] {
  const reach = Math.floor(window / 2);
  if (reach === 0) return [...values];
  const places = values.flatMap((value, place) => value === null ? [] : [place]);
  // Sums of the values before each: a window's mean is a difference, however wide the window.
  const sums = [0];
  for (const place of places) sums.push(sums[sums.length - 1] + (values[place] ?? 0));
  const smoothed: (number | null)[] = values.map(() => null);
  for (const [index, place] of places.entries()) {
    const from = Math.max(0, index - reach);
    const to = Math.min(places.length, index + reach + 1);
    smoothed[place] = (sums[to] - sums[from]) / (to - from);
  }
  return smoothed;
}
