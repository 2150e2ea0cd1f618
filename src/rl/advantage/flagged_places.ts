/** Whether a verifier flags the step at which a solution goes wrong, told by what the generator still makes of it. */

/** Share of the old sums that a verifier step keeps: each has a few dozen wrong solutions, of few continuations. */
const PLACE_DECAY = 0.6;

/**
 * Moving sums over wrong solutions; plain data, part of the checkpoint. The value of a beginning is the share of right
 * answers among the generator's continuations from its end.
 */
export interface FlaggedPlaces {
  /** Value before the first flagged step, and what it lost. */
  readonly before: number;
  readonly lost: number;
  /** The same of any step, each solution having the mean over its steps. */
  readonly anyBefore: number;
  readonly anyLost: number;
}

/** A wrong solution of K steps, and where a critique says that it goes wrong. */
export interface FlaggedSolution {
  /** [K + 1] value of the question alone, null where it is not known, and of the beginning that each step ends */
  readonly values: readonly (number | null)[];
  /** Place of the first flagged step; null where none is, or steps were not judged. */
  readonly flagged: number | null;
}

/**
 * The sums after one more batch. A solution without a flagged step counts as one whose flagged step lost nothing of
 * what steps have before them on the mean; one whose flagged step has no known value before it is left out.
 */
export function updateFlaggedPlaces(
  old: FlaggedPlaces | null,
  solutions: readonly FlaggedSolution[],
): FlaggedPlaces {
  const sums = { before: 0, lost: 0, anyBefore: 0, anyLost: 0 };
  for (const { values, flagged } of solutions) {
    const steps = values.slice(1).map((after, k) => {
      const before = values[k];
      return before === null || after === null ? null : { before, lost: before - after };
    });
    const known = steps.filter((step) => step !== null);
    if (known.length === 0) continue;
    const mean = (of: (step: { readonly before: number; readonly lost: number }) => number) =>
      known.reduce((sum, step) => sum + of(step), 0) / known.length;
    const any = { before: mean(({ before }) => before), lost: mean(({ lost }) => lost) };
    const found = flagged === null ? { before: any.before, lost: 0 } : steps[flagged];
    if (found === null) continue;
    sums.before += found.before;
    sums.lost += found.lost;
    sums.anyBefore += any.before;
    sums.anyLost += any.lost;
  }
  if (old === null) return sums;
  const moved = (name: keyof FlaggedPlaces) =>
    PLACE_DECAY * old[name] + (1 - PLACE_DECAY) * sums[name];
  return {
    before: moved("before"),
    lost: moved("lost"),
    anyBefore: moved("anyBefore"),
    anyLost: moved("anyLost"),
  };
}

/**
 * (l - a) / (1 - a), where l is the share of the value before them that flagged steps lost, and a that of any step: 1
 * where nothing can be made of solutions from the flagged step on, 0 where flags are as good as dealt out at random,
 * below where they are worse. Null while nothing is known, or any step loses all.
 */
export function placeQuality(
  { before, lost, anyBefore, anyLost }: FlaggedPlaces,
): number | null {
  if (before <= 0 || anyBefore <= 0 || anyLost >= anyBefore) return null;
  const any = anyLost / anyBefore;
  return (lost / before - any) / (1 - any);
}

/** initial * max(0, placeQuality), at most initial: 0 while that is chance, or not known. */
export function locatedAlpha(initial: number, places: FlaggedPlaces | null): number {
  const quality = places && placeQuality(places);
  return quality === null ? 0 : initial * Math.min(1, Math.max(0, quality));
}
