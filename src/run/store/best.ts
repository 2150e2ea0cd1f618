/** The best evaluation of a run so far, by the validation part. */
export interface Best {
  readonly step: number;
  /** What was measured. */
  readonly value: number;
}

/**
 * The better of two evaluations; an equal later one does not count as better.
 *
 * @param higher whether more is better: accuracy is, loss is not
 */
export function betterOf(best: Best | null, found: Best, higher: boolean): Best {
  if (best === null) return found;
  return (higher ? found.value > best.value : found.value < best.value) ? found : best;
}
