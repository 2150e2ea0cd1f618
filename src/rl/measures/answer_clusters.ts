/**
 * Which of the sampled answers to a problem are one answer, found by comparing them with each other alone.
 * In their order, each joins the first cluster whose first answer it equals, or begins one. Where equality
 * is not transitive, the order thus decides; the clusters of the first k answers are those that the k have
 * alone.
 *
 * @param answers null where a sample has none; such a sample is in no cluster
 * @param isSame whether an answer equals the first of a cluster
 * @returns for each answer the place of its cluster's first answer, or null
 */
export async function clusterAnswers(
  answers: readonly (string | null)[],
  isSame: (answer: string, first: string) => boolean | Promise<boolean>,
): Promise<(number | null)[]> {
  const firsts: { readonly place: number; readonly answer: string }[] = [];
  const clusters: (number | null)[] = [];
  for (const [place, answer] of answers.entries()) {
    clusters.push(answer === null ? null : await clusterOf(answer, place));
  }
  return clusters;

  async function clusterOf(answer: string, place: number): Promise<number> {
    for (const first of firsts) {
      if (first.answer === answer || await isSame(answer, first.answer)) return first.place;
    }
    firsts.push({ place, answer });
    return place;
  }
}
