import { groupIndices, mean } from "../../base/statistics.ts";
import type { ParsedCritique } from "../text/parse_critique.ts";
import { RandomStream, streams } from "../../random/philox.ts";

/**
 * Where the judgments of the steps come from: the verifier's critiques, the same dealt out at random among the batch's
 * solutions, CORRECT for every step, the task's true labels, or the change of value that each step makes.
 */
export type JudgmentSource = "verifier" | "permuted" | "constant" | "oracle" | "prefix";

/** Whether a source's judgments are read from critiques. */
export function needsVerifier(source: JudgmentSource): boolean {
  return source === "verifier" || source === "permuted";
}

/**
 * A judgment of each of the K steps, from -1 (INCORRECT) to 1 (CORRECT), or its change of value; null when there is none
 * of all of them.
 */
export type StepJudgments = readonly number[] | null;

/** Where the random numbers of a step's judgments are. */
export interface JudgmentPlace {
  readonly seed: number;
  readonly step: number;
}

/** What a critique says of steps. */
export type JudgedSteps = Pick<ParsedCritique, "stepJudgments" | "endsAtError">;

/** A solution whose steps are to be judged. */
export interface JudgeableSolution {
  readonly stepCount: number;
  readonly critiques: readonly JudgedSteps[];
  /** True labels of its steps; only the oracle asks. */
  trueLabels(): readonly boolean[];
}

/** How steps are judged. */
export interface JudgmentOptions extends JudgmentPlace {
  readonly source: Exclude<JudgmentSource, "prefix">;
  /** Share of true labels that the oracle tells as they are. */
  readonly oracleAccuracy: number;
  /** Whether nothing goes by the steps after the first flagged one, so that critiques may end there. */
  readonly untilError: boolean;
}

/**
 * The judgments of a batch's solutions, one array [K] each. Those of `permuted` are the verifier's, which
 * `dealtJudgments` deals out once their quality has been measured.
 */
export function stepJudgments(
  solutions: readonly JudgeableSolution[],
  options: JudgmentOptions,
): StepJudgments[] {
  return solutions.map((solution, place) => {
    switch (options.source) {
      case "constant":
        return constantJudgments(solution.stepCount);
      case "oracle":
        return oracleJudgments(solution.trueLabels(), options.oracleAccuracy, options, place);
      default:
        return critiquedJudgments(solution.critiques, solution.stepCount, options.untilError);
    }
  });
}

/**
 * The mean over those critiques that judged exactly K steps; null when none did. A solution without steps
 * needs no critique: its judgments are none.
 *
 * @param untilError whether a critique may end at the first step that it flags; those after it then count as flagged
 */
export function critiquedJudgments(
  critiques: readonly JudgedSteps[],
  stepCount: number,
  untilError = false,
): StepJudgments {
  if (stepCount === 0) return [];
  const whole = critiques.filter(({ stepJudgments: { length }, endsAtError }) =>
    length === stepCount || untilError && endsAtError && length < stepCount
  );
  if (whole.length === 0) return null;
  return Array.from(
    { length: stepCount },
    (_, step) => mean(whole.map(({ stepJudgments }) => stepJudgments[step] ? 1 : -1)),
  );
}

/**
 * The change of value that each step makes, v_k - v_(k-1): VinePPO's advantage of a step. v_0 is the mean correctness of
 * the solution's group, v_K its own outcome: its changes add up to the one less the other, and those of a group to 0. A
 * solution without steps is one change by itself.
 *
 * @param values for each solution [K], its values at the ends of its steps
 * @param groups the group of each solution
 */
export function valueChanges(
  values: readonly (readonly number[])[],
  isCorrect: readonly boolean[],
  groups: readonly number[],
): number[][] {
  const outcomes = isCorrect.map((one) => one ? 1 : 0);
  const changes = values.map((own, i) => own.length === 0 ? [outcomes[i]] : [...own]);
  for (const members of groupIndices(groups)) {
    const before = mean(members.map((i) => outcomes[i]));
    for (const i of members) {
      changes[i] = changes[i].map((value, k, own) => value - (k === 0 ? before : own[k - 1]));
    }
  }
  return changes;
}

/** CORRECT for every step: what step rewards teach whatever is judged. */
export function constantJudgments(stepCount: number): StepJudgments {
  return new Array<number>(stepCount).fill(1);
}

/**
 * True labels, each kept with probability `accuracy` and else turned round, for right and wrong steps alike,
 * so that their balanced accuracy is `accuracy`. For experiments: a real verifier has no labels.
 *
 * @param place of the solution in its batch
 */
export function oracleJudgments(
  labels: readonly boolean[],
  accuracy: number,
  { seed, step }: JudgmentPlace,
  place: number,
): StepJudgments {
  const random = new RandomStream(seed, streams.oracleJudgments, step, place);
  return labels.map((label) => label === random.uniform() < accuracy ? 1 : -1);
}

/**
 * The judgments of whole solutions dealt out again among the batch's solutions of as many steps, by Fisher and Yates'
 * shuffle: as many flags at the same places, saying nothing about any step. Solutions without judgments stay without.
 */
export function dealtJudgments(
  judgments: readonly StepJudgments[],
  { seed, step }: JudgmentPlace,
): StepJudgments[] {
  const dealt = [...judgments];
  const told = judgments.flatMap((own, solution) => own ? [{ own, solution }] : []);
  for (const [count, members] of Map.groupBy(told, ({ own }) => own.length)) {
    const pool = members.map(({ own }) => own);
    const random = new RandomStream(seed, streams.dealtJudgments, step, count);
    for (let last = pool.length - 1; last > 0; last--) {
      const other = random.integer(last + 1);
      [pool[last], pool[other]] = [pool[other], pool[last]];
    }
    members.forEach(({ solution }, i) => dealt[solution] = pool[i]);
  }
  return dealt;
}
