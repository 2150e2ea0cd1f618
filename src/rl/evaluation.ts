import { shareOut } from "../distributed/shared_work.ts";
import type { Sampling } from "../engine/sampling/rollout.ts";
import type { Policy } from "./policy.ts";
import type { GeneratorTemplate, VerifierTemplate } from "./prompt_template.ts";
import { clusterAnswers } from "./measures/answer_clusters.ts";
import { bestAtK, weightedVoteAtK } from "./measures/choice_metrics.ts";
import { type Critique, type ProblemSource, type Solution, solve, verify } from "./responses.ts";
import { majorityAtK, meanAtN, passAtK, type SampledAnswer } from "./measures/sampling_metrics.ts";
import { stepDoubts } from "./measures/step_doubts.ts";
import type { Tokenizer } from "../model/tokenizer/tokenizer.ts";
import { mean } from "../base/statistics.ts";
import { type VerifierMetrics, verifierMetrics } from "./measures/verifier_metrics.ts";

/** How a generator does on problems of one source, or of all. Shares from 0 to 1. */
export interface GeneratorMeasures {
  /** Share of all solutions that are right: greedy accuracy when greedy, mean@n when sampled. */
  readonly accuracy: number;
  /** Share of all solutions that are right and have no wrong step; null where the task cannot tell. */
  readonly soundAccuracy: number | null;
  /** pass@k and maj@k by k, over n samples of each problem; only 1 when greedy. */
  readonly passAt: Readonly<Record<number, number>>;
  readonly majorityAt: Readonly<Record<number, number>>;
  /** bon@k and vote@k by k, where a verifier has judged every solution. */
  readonly bestAt?: Readonly<Record<number, number>>;
  readonly voteAt?: Readonly<Record<number, number>>;
  readonly meanLength: number;
  readonly meanSteps: number;
  /** Share of solutions that are exactly in the format. */
  readonly wellFormedShare: number;
}

/** How a generator does on a set of problems. */
export interface GeneratorEvaluation<Problem> extends GeneratorMeasures {
  /** Measures of each source of the problems, in order of their names. */
  readonly bySource: ReadonlyMap<string, GeneratorMeasures>;
  readonly solutions: readonly Solution<Problem>[];
}

/**
 * Solves every problem `count` times and counts.
 *
 * @param judge tells the quality of each solution, by which some are chosen; by default none is
 */
export async function evaluateGenerator<Problem>(
  generator: Policy<GeneratorTemplate>,
  source: ProblemSource<Problem>,
  problems: readonly Problem[],
  count: number,
  minimumSteps: number,
  sampling: Sampling,
  judge?: (solutions: readonly Solution<Problem>[]) => Promise<readonly number[]>,
): Promise<GeneratorEvaluation<Problem>> {
  const solutions = await solve(generator, source, problems, { count, minimumSteps, sampling });
  const clusters = await clusterSolutions(generator, source, problems, solutions);
  const qualities = await judge?.(solutions) ?? null;
  const groups = problems.map((_, p) =>
    clusters[p].map((cluster, i) => {
      const place = p * count + i;
      return { solution: solutions[place], cluster, quality: qualities?.[place] ?? null };
    })
  );
  const sources = problems.map((problem) => source.sourceName(problem));
  const ofSource = (name: string) => groups.filter((_, p) => sources[p] === name);
  return {
    ...measure(source, groups, count),
    bySource: new Map(
      [...new Set(sources)].sort().map((name) => [name, measure(source, ofSource(name), count)]),
    ),
    solutions,
  };
}

/**
 * Which of each problem's solutions give the same answer, see `clusterAnswers`. One of the ranks compares
 * those of a problem: it may depend on time.
 */
function clusterSolutions<Problem>(
  { engine }: Policy<GeneratorTemplate>,
  source: ProblemSource<Problem>,
  problems: readonly Problem[],
  solutions: readonly Solution<Problem>[],
): Promise<(number | null)[][]> {
  const count = solutions.length / problems.length;
  const answered = problems.map((problem, p) => ({
    problem,
    answers: solutions.slice(p * count, (p + 1) * count).map(({ parsed }) => parsed.answer),
  }));
  return shareOut(
    engine,
    answered,
    ({ answers }) => answers.length,
    (_, own) =>
      Promise.all(own.map(({ problem, answers }) =>
        clusterAnswers(
          answers,
          (answer, first) => source.isSameAnswer(problem, answer, first),
        )
      )),
  );
}

/** A solution, and which of a problem's solutions give the same answer. */
interface ClusteredSolution<Problem> {
  readonly solution: Solution<Problem>;
  readonly cluster: number | null;
  /** Null where nobody has judged it. */
  readonly quality: number | null;
}

function measure<Problem>(
  source: ProblemSource<Problem>,
  groups: readonly (readonly ClusteredSolution<Problem>[])[],
  count: number,
): GeneratorMeasures {
  const solutions = groups.flat().map(({ solution }) => solution);
  const ks = [...new Set([1, Math.ceil(count / 2), count])];
  const over = (score: (group: readonly SampledAnswer[]) => number) =>
    mean(
      groups.map((group) =>
        score(group.map(({ solution: { correct }, cluster }) => ({ correct, cluster })))
      ),
    );
  const byK = (score: (k: number) => number) => Object.fromEntries(ks.map((k) => [k, score(k)]));
  const weighed = groups.flatMap((group) => {
    const judged = group.flatMap(({ solution: { correct }, cluster, quality }) =>
      quality === null ? [] : [{ correct, cluster, quality }]
    );
    return judged.length === group.length ? [judged] : [];
  });
  const isJudged = groups.length > 0 && weighed.length === groups.length;
  return {
    accuracy: over((group) => meanAtN(group.map(({ correct }) => correct))),
    soundAccuracy: source.labelSteps ? mean(solutions.map((one) => isSound(source, one))) : null,
    passAt: byK((k) => over((group) => passAtK(group.map(({ correct }) => correct), k))),
    majorityAt: byK((k) => over((group) => majorityAtK(group, k))),
    ...(isJudged
      ? {
        bestAt: byK((k) => mean(weighed.map((group) => bestAtK(group, k)))),
        voteAt: byK((k) => mean(weighed.map((group) => weightedVoteAtK(group, k)))),
      }
      : {}),
    meanLength: mean(solutions.map(({ rollout }) => rollout.tokens.length)),
    meanSteps: mean(solutions.map(({ parsed }) => parsed.steps.length)),
    wellFormedShare: mean(solutions.map(({ parsed }) => parsed.wellFormed ? 1 : 0)),
  };
}

/** 1 for a solution that is right, as are all its steps; an answer may also be right by luck. */
function isSound<Problem>(source: ProblemSource<Problem>, solution: Solution<Problem>): number {
  return solution.correct && goldStepsOf(source, solution)?.every((isRight) => isRight) ? 1 : 0;
}

/** How a verifier does on a set of solutions. */
export interface VerifierEvaluation<Problem> {
  readonly metrics: VerifierMetrics;
  readonly meanLength: number;
  readonly critiques: readonly Critique<Problem>[];
}

/** Judges every solution `count` times and compares with the truth. */
export async function evaluateVerifier<Problem>(
  verifier: Policy<VerifierTemplate>,
  source: ProblemSource<Problem>,
  solutions: readonly Solution<Problem>[],
  count: number,
  sampling: Sampling,
): Promise<VerifierEvaluation<Problem>> {
  const critiques = await verify(verifier, source, solutions, count, sampling);
  return {
    metrics: critiqueMetrics(source, critiques, verifier.tokenizer),
    meanLength: mean(critiques.map(({ rollout }) => rollout.tokens.length)),
    critiques,
  };
}

/**
 * The verifier's metrics over critiques, with step accuracy where the task knows true step labels.
 *
 * @param tokenizer the verifier's
 */
export function critiqueMetrics<Problem>(
  source: ProblemSource<Problem>,
  critiques: readonly Critique<Problem>[],
  tokenizer: Tokenizer,
): VerifierMetrics {
  return verifierMetrics(critiques.map(({ solution, parsed, rollout: { tokens, logProbs } }) => ({
    verdict: parsed.verdict,
    solutionIsCorrect: solution.correct,
    stepJudgments: parsed.stepJudgments,
    stepDoubts: source.labelSteps &&
      stepDoubts({ tokenTexts: tokenizer.decodeEach(tokens), logProbs, ...parsed }),
    stepCount: solution.parsed.steps.length,
    goldSteps: goldStepsOf(source, solution),
    solution,
    ownResultDiffers: ownResultDiffers(source, solution, parsed),
  })));
}

/** See `Verification`. */
export function ownResultDiffers<Problem>(
  source: ProblemSource<Problem>,
  { parsed: { steps } }: Solution<Problem>,
  { judgedSteps }: Critique<Problem>["parsed"],
): (boolean | null)[] | undefined {
  if (!source.readOwnResult || judgedSteps.length !== steps.length) return undefined;
  return judgedSteps.map(({ text }, step) => {
    const read = source.readOwnResult?.(text, steps[step].text);
    return read ? read.own !== read.claim : null;
  });
}

/** True labels of a solution's steps; undefined where the task cannot tell. */
export function goldStepsOf<Problem>(
  source: ProblemSource<Problem>,
  { problem, parsed }: Pick<Solution<Problem>, "problem" | "parsed">,
): boolean[] | undefined {
  return source.labelSteps?.(problem, parsed.steps.map(({ text }) => text));
}
