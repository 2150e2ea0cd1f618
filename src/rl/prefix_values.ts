/**
 * What the beginnings of solutions are worth: the generator goes on from the end of each step, and the answers tell
 * (Monte Carlo values, as in VinePPO, Kazemnejad et al. 2024, and StepWiser, arXiv 2508.19229). No step labels are
 * needed.
 */

import { shareOut } from "../distributed/shared_work.ts";
import { messagesArrive, rollout, type RolloutRequest } from "../engine/sampling/rollout.ts";
import type { Sampling } from "../engine/sampling/rollout.ts";
import type { Policy, PolicyEngine } from "./policy.ts";
import type { ProblemSource, Solution } from "./responses.ts";
import { parseSolution } from "./text/parse_solution.ts";
import { lastTokenOfSpans } from "./text/token_spans.ts";

/** A solution as far as its beginnings are valued. */
export type ValuedSolution<Problem> = Pick<
  Solution<Problem>,
  "problem" | "prompt" | "rollout" | "tokenTexts" | "parsed" | "correct"
>;

/** Values of the beginnings of solutions. */
export interface PrefixValues {
  /** For each solution, for each of its K steps, the value of the beginning that the step ends. */
  readonly values: readonly (readonly number[])[];
  /** Tokens sampled for them. */
  readonly sampledTokens: number;
}

/** A beginning that the generator goes on from. */
interface Prefix extends RolloutRequest {
  readonly maximumResponse: number;
  /** [P] response tokens up to the step's last */
  readonly beginning: Uint32Array;
}

/** What was found about a solution. */
interface Found {
  /** Right continuations from each step's end. */
  readonly right: number[];
  readonly tokens: number;
}

/** How beginnings are gone on from. */
export interface ContinuationOptions {
  /** Continuations of each beginning. */
  readonly count: number;
  /** Sampling whose stream is the continuations' alone. */
  readonly sampling: Sampling;
}

/** Continuations of one solution. */
interface Continued {
  /** Right ones from the end of each step. */
  readonly right: readonly number[];
  /** All from the end of each step; 0 where a beginning leaves no room. */
  readonly sampled: readonly number[];
}

/**
 * Shares of right answers among the continuations from the end of each step, the solution itself being one of them.
 * Continuations may be as long as leaves the whole solution its longest; from a beginning that leaves no room none is
 * sampled, and its value is the solution's own outcome. All ranks call it; those that hold the generator share the
 * solutions, and the values do not depend on how.
 *
 * @param solutions in the generator's own tokens
 */
export async function prefixValues<Problem>(
  generator: Policy<unknown>,
  source: ProblemSource<Problem>,
  solutions: readonly ValuedSolution<Problem>[],
  { count, sampling }: ContinuationOptions,
): Promise<PrefixValues> {
  const { continued, sampledTokens } = await goOn(generator, source, solutions, count, sampling);
  const values = continued.map(({ right, sampled }, s) =>
    right.map((hits, k) => (hits + (solutions[s].correct ? 1 : 0)) / (sampled[k] + 1))
  );
  return { values, sampledTokens };
}

/** The same where nothing is sampled: each beginning is worth what its solution came to. */
export function outcomeValues(
  solutions: readonly Pick<ValuedSolution<unknown>, "parsed" | "correct">[],
): PrefixValues {
  const values = solutions.map(({ parsed: { steps }, correct }) =>
    steps.map(() => correct ? 1 : 0)
  );
  return { values, sampledTokens: 0 };
}

/**
 * Values as VinePPO (Kazemnejad et al. 2024) estimates them: from the end of each step but the last the share of right
 * answers among fresh continuations alone, of which the solution itself is none; at the end of the last its own
 * outcome, for which nothing is sampled. Otherwise as `prefixValues`.
 */
export async function stepValues<Problem>(
  generator: Policy<unknown>,
  source: ProblemSource<Problem>,
  solutions: readonly ValuedSolution<Problem>[],
  { count, sampling }: ContinuationOptions,
): Promise<PrefixValues> {
  const begun = solutions.map((solution) => ({
    ...solution,
    parsed: { ...solution.parsed, steps: solution.parsed.steps.slice(0, -1) },
  }));
  const { continued, sampledTokens } = await goOn(generator, source, begun, count, sampling);
  const values = solutions.map(({ correct, parsed: { steps } }, s) => {
    const outcome = correct ? 1 : 0;
    const { right, sampled } = continued[s];
    return steps.map((_, k) =>
      k < right.length && sampled[k] > 0 ? right[k] / sampled[k] : outcome
    );
  });
  return { values, sampledTokens };
}

/** Samples and grades the continuations, the work being shared. */
async function goOn<Problem>(
  generator: Policy<unknown>,
  source: ProblemSource<Problem>,
  solutions: readonly ValuedSolution<Problem>[],
  count: number,
  sampling: Sampling,
): Promise<{ readonly continued: readonly Continued[]; readonly sampledTokens: number }> {
  let sequences = 0;
  const asked = solutions.map((solution) => {
    const prefixes = prefixesOf(generator, solution).map((prefix) => ({
      ...prefix,
      sequenceIds: Array.from({ length: count }, () => sequences++),
    }));
    return { solution, prefixes };
  });
  const found = await shareOut(
    generator.engine,
    asked,
    ({ prefixes }) =>
      prefixes.reduce((sum, { maximumResponse }) => sum + 1 + count * maximumResponse, 0),
    (engine, own) => continueFrom(engine, generator, source, own, sampling),
  );
  const continued = found.map(({ right }, s) => ({
    right,
    sampled: asked[s].prefixes.map(({ maximumResponse }) => maximumResponse > 0 ? count : 0),
  }));
  return { continued, sampledTokens: found.reduce((sum, { tokens }) => sum + tokens, 0) };
}

function prefixesOf<Problem>(
  { maximumResponse }: Policy<unknown>,
  { prompt, rollout: { tokens }, tokenTexts, parsed }: ValuedSolution<Problem>,
): Omit<Prefix, "sequenceIds">[] {
  return lastTokenOfSpans(tokenTexts, parsed.steps).map((last) => {
    const beginning = tokens.subarray(0, last + 1);
    const whole = new Uint32Array(prompt.length + beginning.length);
    whole.set(prompt);
    whole.set(beginning, prompt.length);
    return { prompt: whole, beginning, maximumResponse: maximumResponse - beginning.length };
  });
}

/** Samples and grades on this rank. A solution's beginnings follow one another, and share their pages. */
async function continueFrom<Problem>(
  { sampler }: PolicyEngine,
  { tokenizer, stopTokens, maximumResponse, engine: { all } }: Policy<unknown>,
  source: ProblemSource<Problem>,
  own: readonly {
    readonly solution: ValuedSolution<Problem>;
    readonly prefixes: readonly Prefix[];
  }[],
  sampling: Sampling,
): Promise<Found[]> {
  const requests = own.flatMap(({ prefixes }) =>
    prefixes.filter((prefix) => prefix.maximumResponse > 0)
  );
  const between = async () => {
    if (all.size > 1) await messagesArrive();
  };
  const options = { ...sampling, stopTokens, maximumResponse };
  let groups;
  try {
    groups = await rollout(sampler, requests, options, { between });
  } finally {
    // Training needs the memory.
    sampler.release();
  }
  const responses = new Map(requests.map((request, r) => [request, groups[r]]));
  return await Promise.all(own.map(async ({ solution: { problem }, prefixes }) => {
    const grades = await Promise.all(
      prefixes.map((prefix) =>
        Promise.all((responses.get(prefix) ?? []).map(({ tokens }) => {
          const text = tokenizer.decode([...prefix.beginning, ...tokens]);
          return source.isCorrect(problem, parseSolution(text).answer);
        }))
      ),
    );
    const tokens = prefixes.flatMap((prefix) => responses.get(prefix) ?? [])
      .reduce((sum, one) => sum + one.tokens.length, 0);
    return { right: grades.map((each) => each.filter(Boolean).length), tokens };
  }));
}
