import type { AnswersLog, WrittenAnswer } from "./answers_log.ts";

/** Whoever answers problems. */
export interface Solver<Problem> {
  /**
   * Answers some problems, each as often as it is set to. A problem that does not fit the model has no answers.
   *
   * @param first place of the first of them among all, from 0: an answer's random numbers depend on it alone
   * @param heard told each problem's place and answers as soon as they are there, in any order
   */
  solve(
    problems: readonly Problem[],
    first: number,
    heard: (place: number, answers: readonly WrittenAnswer[]) => void,
  ): Promise<void>;
}

/**
 * Has problems answered that are not yet: what was killed goes on with the first whose answers are not in the log, and
 * leaves the same log.
 *
 * @param problems those that are wanted, from the first on; the log may have more of them
 * @param tell told how many are answered, each time that some more are
 */
export async function answerRest<Problem>(
  problems: readonly Problem[],
  log: AnswersLog,
  solver: Solver<Problem>,
  tell: (answered: number) => void = () => {},
): Promise<void> {
  const first = log.answers.length;
  if (first >= problems.length) return;
  // The log is in the problems' order: who is quick waits here for those before him.
  const waiting = new Map<number, readonly WrittenAnswer[]>();
  await solver.solve(problems.slice(first), first, (place, answers) => {
    waiting.set(place, answers);
    const ready: (readonly WrittenAnswer[])[] = [];
    for (;;) {
      const next = log.answers.length + ready.length;
      const some = waiting.get(next);
      if (some === undefined) break;
      waiting.delete(next);
      ready.push(some);
    }
    if (ready.length === 0) return;
    log.append(ready);
    tell(log.answers.length);
  });
}
