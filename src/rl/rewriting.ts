/** Solutions are begun again where a verifier finds the first wrong step. */

import { shareOut } from "../distributed/shared_work.ts";
import type { RolloutRequest, RolloutResponse, Sampling } from "../engine/sampling/rollout.ts";
import type { Policy } from "./policy.ts";
import type { GeneratorTemplate } from "./prompt_template.ts";
import { respond } from "./respond.ts";
import { type Critique, type ProblemSource, readSolution, type Solution } from "./responses.ts";
import type { WeighedSolution } from "./solution_quality.ts";
import { generatorFormatScore } from "./text/format_score.ts";
import { type CharacterSpan, lastTokenOfSpans } from "./text/token_spans.ts";

/** How solutions are rewritten. */
export interface RewritingOptions<Problem> {
  /** Times that one is rewritten, at most. */
  readonly rounds: number;
  readonly minimumSteps: number;
  /** Of the rewriting in a round, from 1. It must draw: the likeliest continuation is what is there already. */
  readonly sampling: (round: number) => Sampling;
  /** Judges what was rewritten in a round, from 1. */
  readonly judge: (
    solutions: readonly Solution<Problem>[],
    round: number,
  ) => Promise<readonly WeighedSolution<Problem>[]>;
}

/** What came of rewriting. */
export interface Rewriting<Problem> {
  /** Each solution as it was at last, rewritten or not. */
  readonly solutions: readonly Solution<Problem>[];
  /** Which were rewritten. */
  readonly isRewritten: readonly boolean[];
  /** Tokens that the generator has sampled for it. */
  readonly generatorTokens: number;
  /** Tokens that the verifier has sampled to judge again. */
  readonly verifierTokens: number;
}

/**
 * The first step that most critiques call INCORRECT, of those critiques that judge each of a solution's steps; null
 * where none is.
 */
export function firstFlaggedStep(
  critiques: readonly Pick<Critique<unknown>, "parsed">[],
  steps: number,
): number | null {
  const whole = critiques.map(({ parsed }) => parsed.stepJudgments)
    .filter(({ length }) => length === steps);
  for (let step = 0; step < steps; step++) {
    const flags = whole.filter((judgments) => !judgments[step]).length;
    if (2 * flags > whole.length) return step;
  }
  return null;
}

/** Tokens of a solution up to the end of the step before `step`. @param tokenTexts joined they are the solution */
export function tokensBefore(
  tokenTexts: readonly string[],
  steps: readonly CharacterSpan[],
  step: number,
): number {
  if (step === 0) return 0;
  const [last] = lastTokenOfSpans(tokenTexts, [steps[step - 1]]);
  return last + 1;
}

/** Tokens that critiques took. */
export function critiqueTokens(judged: readonly WeighedSolution<unknown>[]): number {
  return judged.flatMap(({ critiques }) => critiques)
    .reduce((sum, { rollout }) => sum + rollout.tokens.length, 0);
}

/**
 * Keeps each solution up to the step before the first one that is flagged, lets the generator go on from there, and has
 * the verifier judge what came of it, until no step is flagged or the rounds are over. The last version stays. All ranks
 * call it.
 */
export async function rewriteFlagged<Problem>(
  generator: Policy<GeneratorTemplate>,
  source: ProblemSource<Problem>,
  judged: readonly WeighedSolution<Problem>[],
  { rounds, minimumSteps, sampling, judge }: RewritingOptions<Problem>,
): Promise<Rewriting<Problem>> {
  const current = [...judged];
  const isRewritten = judged.map(() => false);
  let generatorTokens = 0, verifierTokens = 0;
  for (let round = 1; round <= rounds; round++) {
    const asked = current.flatMap(({ solution, critiques }, place) => {
      const step = firstFlaggedStep(critiques, solution.parsed.steps.length);
      const request = step === null ? null : beginAgain(generator, solution, step, place);
      return request ? [request] : [];
    });
    if (asked.length === 0) break;
    const written = await goOn(generator, source, asked, sampling(round));
    const solutions = asked.map(({ solution }, i) => {
      const { version, rollout, correct } = written[i];
      const read = readSolution(generator, rollout);
      const formatScore = generatorFormatScore(read.parsed, { minimumSteps });
      return { ...solution, ...read, version, rollout, correct, formatScore };
    });
    const again = await judge(solutions, round);
    asked.forEach(({ place, beginning }, i) => {
      current[place] = again[i];
      isRewritten[place] = true;
      generatorTokens += written[i].rollout.tokens.length - beginning.length;
    });
    verifierTokens += critiqueTokens(again);
  }
  const solutions = current.map(({ solution }) => solution);
  return { solutions, isRewritten, generatorTokens, verifierTokens };
}

/** A solution that is begun again. */
interface BegunAgain<Problem> extends RolloutRequest {
  readonly solution: Solution<Problem>;
  readonly place: number;
  /** [P] response tokens that are kept */
  readonly beginning: Uint32Array;
  readonly maximumResponse: number;
}

/** Null where what is kept leaves no room. */
function beginAgain<Problem>(
  { maximumResponse }: Policy<unknown>,
  solution: Solution<Problem>,
  step: number,
  place: number,
): BegunAgain<Problem> | null {
  const { prompt, rollout: { tokens }, tokenTexts, parsed: { steps } } = solution;
  const beginning = tokens.slice(0, tokensBefore(tokenTexts, steps, step));
  const room = maximumResponse - beginning.length;
  if (room <= 0) return null;
  const whole = Uint32Array.of(...prompt, ...beginning);
  return { solution, place, beginning, prompt: whole, sequenceIds: [place], maximumResponse: room };
}

/** A solution as the rank that sampled and graded it tells the others. */
interface Continued {
  readonly rollout: RolloutResponse;
  readonly version: number;
  readonly correct: boolean;
}

async function goOn<Problem>(
  generator: Policy<GeneratorTemplate>,
  source: ProblemSource<Problem>,
  asked: readonly BegunAgain<Problem>[],
  sampling: Sampling,
): Promise<Continued[]> {
  return await shareOut(
    generator.engine,
    asked,
    ({ prompt, maximumResponse }) => prompt.length + maximumResponse,
    async (engine, own) => {
      const groups = await respond(engine, generator, own, sampling);
      return await Promise.all(own.map(async ({ solution, beginning }, i) => {
        const [{ rollout, version }] = groups[i];
        const tokens = Uint32Array.of(...beginning, ...rollout.tokens);
        const logProbs = Float32Array.of(
          ...solution.rollout.logProbs.subarray(0, beginning.length),
          ...rollout.logProbs,
        );
        const whole = { ...rollout, tokens, logProbs };
        const { parsed } = readSolution(generator, whole);
        const correct = await source.isCorrect(solution.problem, parsed.answer);
        return { rollout: whole, version, correct };
      }));
    },
  );
}
