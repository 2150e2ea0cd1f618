/** A solution as far as pairing goes. */
export interface Graded {
  readonly correct: boolean;
}

/**
 * As many solutions as there are problems, in pairs as far as can be: a right and a wrong one of each problem that has
 * both. Problem and work are then the same for both, and a verifier that goes by anything but what sets them apart is
 * as often wrong as right. The rest are first solutions of other problems, one of each, and then of those with both.
 *
 * @param groups solutions of each problem, at least one each
 * @returns [number of groups]
 */
export function pairedSolutions<Solution extends Graded>(
  groups: readonly (readonly Solution[])[],
): Solution[] {
  const paired: Solution[] = [], single: Solution[] = [];
  for (const group of groups) {
    const right = group.find(({ correct }) => correct);
    const wrong = group.find(({ correct }) => !correct);
    if (right && wrong && paired.length + 2 <= groups.length) paired.push(right, wrong);
    else single.push(group[0]);
  }
  return [...paired, ...single.slice(0, groups.length - paired.length)];
}
