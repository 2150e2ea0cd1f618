import { generatorFormatScore, verifierFormatScore } from "./text/format_score.ts";
import { parseCritique, type ParsedCritique } from "./text/parse_critique.ts";
import { type ParsedSolution, parseSolution } from "./text/parse_solution.ts";
import type { Policy } from "./policy.ts";
import type { GeneratorTemplate, VerifierTemplate } from "./prompt_template.ts";
import { verifierPrompt } from "./verifier_prompt.ts";
import { rollout, type RolloutResponse, type Sampling } from "../engine/sampling/rollout.ts";

/** What the RL loop must know of a task's problems. */
export interface ProblemSource<Problem> {
  question(problem: Problem): string;
  referenceAnswer(problem: Problem): string;
  /** What measurements per source go by. */
  sourceName(problem: Problem): string;
  isCorrect(problem: Problem, answer: string | null): boolean | Promise<boolean>;
  /** Whether two given answers to a problem are the same; the reference has no part in it. */
  isSameAnswer(problem: Problem, answer: string, other: string): boolean | Promise<boolean>;
  /** True labels of a solution's steps where the task knows them; for measuring only. */
  labelSteps?(problem: Problem, steps: readonly string[]): boolean[];
}

/** A generator response, read and checked. */
export interface Solution<Problem> {
  readonly problem: Problem;
  readonly prompt: Uint32Array;
  readonly rollout: RolloutResponse;
  readonly text: string;
  /** The text each response token added; joined, they are `text`. */
  readonly tokenTexts: readonly string[];
  readonly parsed: ParsedSolution;
  readonly correct: boolean;
  readonly formatScore: number;
}

/** A verifier response, read. */
export interface Critique<Problem> {
  readonly solution: Solution<Problem>;
  readonly prompt: Uint32Array;
  readonly rollout: RolloutResponse;
  readonly text: string;
  readonly parsed: ParsedCritique;
  /** Whether the prompt had room for the beginning of the solution only. */
  readonly isCut: boolean;
  readonly formatScore: number;
}

/**
 * Samples `count` solutions of each problem; those of one problem follow one another.
 *
 * @param firstSequence where the responses' random numbers begin, when the step has others before them
 */
export async function solve<Problem>(
  generator: Policy<GeneratorTemplate>,
  source: ProblemSource<Problem>,
  problems: readonly Problem[],
  count: number,
  minimumSteps: number,
  sampling: Sampling,
  firstSequence = 0,
): Promise<Solution<Problem>[]> {
  const prompts = problems.map((problem) =>
    generator.tokenizer.encode(generator.template.render({ question: source.question(problem) }))
  );
  const groups = await respond(generator, prompts, count, sampling, firstSequence);
  return await Promise.all(groups.flatMap((group, p) =>
    group.map(async (rollout) => {
      const tokenTexts = generator.tokenizer.decodeEach(rollout.tokens);
      const text = tokenTexts.join("");
      const parsed = parseSolution(text);
      const problem = problems[p];
      return {
        problem,
        prompt: prompts[p],
        rollout,
        text,
        tokenTexts,
        parsed,
        correct: await source.isCorrect(problem, parsed.answer),
        formatScore: generatorFormatScore(parsed, { minimumSteps }),
      };
    })
  ));
}

/** Samples `count` critiques of each solution; those of one solution follow one another. */
export async function verify<Problem>(
  verifier: Policy<VerifierTemplate>,
  source: ProblemSource<Problem>,
  solutions: readonly Solution<Problem>[],
  count: number,
  sampling: Sampling,
): Promise<Critique<Problem>[]> {
  const asked = solutions.map(({ problem, text, parsed }) =>
    verifierPrompt(verifier, {
      question: source.question(problem),
      solution: text,
      steps: parsed.steps.length,
    })
  );
  const prompts = asked.map(({ prompt }) => prompt);
  const groups = await respond(verifier, prompts, count, sampling);
  return groups.flatMap((group, s) =>
    group.map((rollout) => {
      const text = verifier.tokenizer.decode(rollout.tokens);
      const parsed = parseCritique(text);
      const solution = solutions[s];
      return {
        solution,
        ...asked[s],
        rollout,
        text,
        parsed,
        formatScore: verifierFormatScore(parsed, {
          expectedSteps: solution.parsed.steps.length,
          generatorFormatScore: solution.formatScore,
        }),
      };
    })
  );
}

async function respond<Template>(
  policy: Policy<Template>,
  prompts: readonly Uint32Array[],
  count: number,
  sampling: Sampling,
  firstSequence = 0,
): Promise<RolloutResponse[][]> {
  // A response's random numbers depend on its place among all responses of the step, not on how
  // they are batched or spread over devices.
  const requests = prompts.map((prompt, p) => ({
    prompt,
    sequenceIds: Array.from({ length: count }, (_, i) => firstSequence + p * count + i),
  }));
  try {
    return await rollout(policy.sampler, requests, {
      ...sampling,
      stopTokens: policy.stopTokens,
      maximumResponse: policy.maximumResponse,
    });
  } finally {
    // Training needs the memory.
    policy.sampler.release();
  }
}
