import { generatorFormatScore, verifierFormatScore } from "./text/format_score.ts";
import { parseCritique, type ParsedCritique } from "./text/parse_critique.ts";
import { type ParsedSolution, parseSolution } from "./text/parse_solution.ts";
import { shareOut, sharesOf } from "../distributed/shared_work.ts";
import { streamOut } from "../distributed/streamed_work.ts";
import type { RolloutResponse, Sampling, ToldSampling } from "../engine/sampling/rollout.ts";
import type { Policy } from "./policy.ts";
import type { GeneratorTemplate, VerifierTemplate } from "./prompt_template.ts";
import { askedOf, mostTokens, requests, respond } from "./respond.ts";
import type { Sampled } from "./sampled_ahead.ts";
import { verifierPrompt } from "./verifier_prompt.ts";

/** A critique's own result beside the claim it judges. */
export interface OwnResult {
  readonly own: string;
  readonly claim: string;
}

/** A task's problems, as the RL loop uses them. */
export interface ProblemSource<Problem> {
  question(problem: Problem): string;
  referenceAnswer(problem: Problem): string;
  /** Name by which measurements per source are kept. */
  sourceName(problem: Problem): string;
  isCorrect(problem: Problem, answer: string | null): boolean | Promise<boolean>;
  /** Whether two given answers to a problem are the same; the reference has no part in it. */
  isSameAnswer(problem: Problem, answer: string, other: string): boolean | Promise<boolean>;
  /** True labels of a solution's steps where the task knows them; for measuring, and for oracle judgments. */
  labelSteps?(problem: Problem, steps: readonly string[]): boolean[];
  /** Steps of the right solution where the task knows them; for measuring, and for oracle judgments. */
  neededSteps?(problem: Problem): number;
  /**
   * The result that a critique works out for a step, and what the step claims; null where it works out none. For
   * measuring only.
   */
  readOwnResult?(critiqueStep: string, step: string): OwnResult | null;
}

/** A generator response, read and checked. */
export interface Solution<Problem> {
  readonly problem: Problem;
  readonly prompt: Uint32Array;
  readonly rollout: RolloutResponse;
  /** Updates that the generator had had; null when another hand wrote it. */
  readonly version: number | null;
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
  /** Updates that the verifier had had. */
  readonly version: number;
  readonly text: string;
  readonly parsed: ParsedCritique;
  /** Whether the prompt had room for the beginning of the solution only. */
  readonly isCut: boolean;
  readonly formatScore: number;
}

/** Told of solutions one by one, in any order, before all of them are there. */
export interface SolutionListener<Problem> {
  /** The rank that is to judge a solution, null if none is; asked on the rank that sampled it. */
  assign(rollout: RolloutResponse, correct: boolean): number | null;
  /** @param place of the solution among all */
  hear(solution: Solution<Problem>, place: number, judge: number): void;
}

/** How solutions are sampled. */
export interface SolveOptions<Problem> {
  /** Solutions of each problem. */
  readonly count: number;
  /** Steps below which the format score is lowered. */
  readonly minimumSteps: number;
  readonly sampling: Sampling;
  /** Sequence number of the first response, when the step has others before it; 0 by default. */
  readonly firstSequence?: number;
  readonly listener?: SolutionListener<Problem> | null;
}

/** A graded solution, as the rank that sampled it tells the others. */
interface Graded extends Sampled {
  readonly place: number;
  readonly correct: boolean;
  /** The rank that is to judge it, when one begins before all solutions are there. */
  readonly judge: number | null;
}

/**
 * Samples solutions of each problem; those of one problem follow one another. A solution is graded where it
 * was sampled, and nowhere else: comparing answers may depend on time.
 */
export async function solve<Problem>(
  generator: Policy<GeneratorTemplate>,
  source: ProblemSource<Problem>,
  problems: readonly Problem[],
  { count, minimumSteps, sampling, firstSequence = 0, listener = null }: SolveOptions<Problem>,
): Promise<Solution<Problem>[]> {
  const asked = askGenerator(generator, source, problems, count, firstSequence);
  const solutions = new Array<Solution<Problem>>(problems.length * count);
  const texts = remembered((rollout: RolloutResponse) => readSolution(generator, rollout));
  await streamOut(
    generator.engine,
    asked,
    (request) => mostTokens(generator, request),
    async (engine, own, tell: (graded: Graded) => void) => {
      const grading = new Gradings();
      const grade = async (sampled: Sampled, problem: Problem) => {
        const { rollout } = sampled;
        const correct = await source.isCorrect(problem, texts(rollout).parsed.answer);
        const place = rollout.sequenceId - firstSequence;
        tell({ ...sampled, place, correct, judge: listener && listener.assign(rollout, correct) });
      };
      try {
        await respond(engine, generator, own, sampling, {
          ended: (sampled, r) => grading.add(grade(sampled, own[r].problem)),
          between: () => grading.check(),
        });
      } finally {
        await grading.finished();
      }
      grading.check();
    },
    ({ place, judge, ...sampled }) => {
      const { problem, prompt } = asked[Math.floor(place / count)];
      const read = texts(sampled.rollout);
      const formatScore = generatorFormatScore(read.parsed, { minimumSteps });
      const solution = { problem, prompt, ...sampled, ...read, formatScore };
      solutions[place] = solution;
      if (listener && judge !== null) listener.hear(solution, place, judge);
    },
  );
  return solutions;
}

/** Gradings under way while responses are sampled. A failure among them is kept until somebody checks. */
class Gradings {
  readonly #running: Promise<void>[] = [];
  readonly #failures: unknown[] = [];

  add(grading: Promise<void>): void {
    this.#running.push(grading.catch((error) => void this.#failures.push(error)));
  }

  /** @throws what the first of them to fail has failed with */
  check(): void {
    if (this.#failures.length > 0) throw this.#failures[0];
  }

  /** Returns when none is under way any more; never throws. */
  async finished(): Promise<void> {
    await Promise.all(this.#running);
  }
}

/**
 * Samples on this rank what `solve` will ask of it with the same arguments, and keeps it until then. Ranks
 * whose generator waits for others do it; the bits are the same.
 */
export async function sampleAhead<Problem>(
  generator: Policy<GeneratorTemplate>,
  source: ProblemSource<Problem>,
  problems: readonly Problem[],
  count: number,
  sampling: Sampling,
): Promise<void> {
  const { all, ranks, here } = generator.engine;
  if (here === null) return;
  const asked = askGenerator(generator, source, problems, count, 0);
  const shares = sharesOf(ranks, asked, (request) => mostTokens(generator, request));
  const own = shares[ranks.indexOf(all.rank)].map((i) => asked[i]);
  const groups = await respond(here, generator, own, sampling);
  here.ahead.keep(askedOf(here, own, sampling), groups);
}

function askGenerator<Problem>(
  { tokenizer, template }: Policy<GeneratorTemplate>,
  source: ProblemSource<Problem>,
  problems: readonly Problem[],
  count: number,
  firstSequence: number,
) {
  const prompts = problems.map((problem) =>
    tokenizer.encode(template.render({ question: source.question(problem) }))
  );
  return requests(prompts, count, firstSequence)
    .map((request, p) => ({ ...request, problem: problems[p] }));
}

/** Reads a solution that the generator sampled earlier, and of which it is known whether it is right. */
export function readSolved<Problem>(
  generator: Policy<GeneratorTemplate>,
  source: ProblemSource<Problem>,
  solved: Pick<Solution<Problem>, "problem" | "rollout" | "version" | "correct">,
  minimumSteps: number,
): Solution<Problem> {
  const { tokenizer, template } = generator;
  const prompt = tokenizer.encode(template.render({ question: source.question(solved.problem) }));
  const read = readSolution(generator, solved.rollout);
  const formatScore = generatorFormatScore(read.parsed, { minimumSteps });
  return { prompt, ...solved, ...read, formatScore };
}

/** Reads a response of the generator. */
export function readSolution({ tokenizer }: Policy<unknown>, { tokens }: RolloutResponse) {
  const tokenTexts = tokenizer.decodeEach(tokens);
  const text = tokenTexts.join("");
  return { tokenTexts, text, parsed: parseSolution(text) };
}

/** A function that makes each value once and remembers it. */
function remembered<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const known = new Map<Key, Value>();
  return (key) => {
    const value = known.get(key) ?? make(key);
    known.set(key, value);
    return value;
  };
}

/**
 * Samples `count` critiques of each solution; those of one solution follow one another.
 *
 * @param judges whether a solution is judged; which others are does not change its critiques
 */
export async function verify<Problem>(
  verifier: Policy<VerifierTemplate>,
  source: ProblemSource<Problem>,
  solutions: readonly Solution<Problem>[],
  count: number,
  sampling: ToldSampling,
  judges: (solution: Solution<Problem>) => boolean = () => true,
): Promise<Critique<Problem>[]> {
  const judged = solutions
    .map((solution, place) => ({ solution, place }))
    .filter(({ solution }) => judges(solution))
    .map((one) => ({ ...one, asked: askVerifier(verifier, source, one.solution) }));
  const groups = await shareOut(
    verifier.engine,
    judged.flatMap(({ asked: { prompt }, place }) => requests([prompt], count, place * count)),
    (request) => mostTokens(verifier, request),
    (engine, own) => respond(engine, verifier, own, sampling),
  );
  return groups.flatMap((group, j) =>
    group.map((sampled) => readCritique(verifier, judged[j].solution, judged[j].asked, sampled))
  );
}

type Asked = ReturnType<typeof verifierPrompt>;

/** The verifier's prompt about a solution. */
export function askVerifier<Problem>(
  verifier: Policy<VerifierTemplate>,
  source: ProblemSource<Problem>,
  { problem, text, parsed: { steps } }: Solution<Problem>,
): Asked {
  const question = source.question(problem);
  return verifierPrompt(verifier, { question, solution: text, steps: steps.length });
}

/** Reads what the verifier answered. */
export function readCritique<Problem>(
  { tokenizer }: Policy<VerifierTemplate>,
  solution: Solution<Problem>,
  asked: Asked,
  sampled: Sampled,
): Critique<Problem> {
  const text = tokenizer.decode(sampled.rollout.tokens);
  const parsed = parseCritique(text);
  const formatScore = verifierFormatScore(parsed, {
    expectedSteps: solution.parsed.steps.length,
    generatorFormatScore: solution.formatScore,
  });
  return { solution, ...asked, ...sampled, text, parsed, formatScore };
}

/** How many tokens were sampled for some responses. */
export const tokensOf = (responses: readonly { readonly rollout: RolloutResponse }[]) =>
  responses.reduce((sum, { rollout }) => sum + rollout.tokens.length, 0);
