/** The groups that a step learns from, and what it took to find them. */
export interface SampledGroups<Group> {
  readonly groups: readonly Group[];
  /** Batches that were sampled. */
  readonly batches: number;
  /** Share of all sampled groups whose rewards are unequal. */
  readonly unequalShare: number;
}

/**
 * Samples batches of groups until `wanted` of them have unequal rewards, as DAPO's dynamic sampling does
 * (Yu et al. 2025, section 3.2): a group whose rewards are all equal teaches nothing. When `maximumBatches`
 * do not have as many, groups of equal rewards make up the number.
 *
 * @param maximumBatches 1 takes the first batch as it is
 * @param sample the groups of a batch, counted from 0
 * @param rewardsOf a group's rewards
 */
export async function sampleGroups<Group>(
  wanted: number,
  maximumBatches: number,
  sample: (batch: number) => Promise<readonly Group[]>,
  rewardsOf: (group: Group) => readonly number[],
): Promise<SampledGroups<Group>> {
  const isUnequal = (group: Group) => new Set(rewardsOf(group)).size > 1;
  const unequal: Group[] = [];
  const equal: Group[] = [];
  let batches = 0;
  let first: readonly Group[] = [];
  do {
    const groups = await sample(batches++);
    if (batches === 1) first = groups;
    for (const group of groups) (isUnequal(group) ? unequal : equal).push(group);
  } while (batches < maximumBatches && unequal.length < wanted);
  return {
    groups: maximumBatches === 1 ? first : [...unequal, ...equal].slice(0, wanted),
    batches,
    unequalShare: unequal.length / Math.max(1, unequal.length + equal.length),
  };
}
