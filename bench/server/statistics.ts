export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The value below which such a share of all lies; NaN of none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return low + (place - Math.floor(place)) * (high - low);
}
