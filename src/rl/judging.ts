import { gatherOutcomes } from "../distributed/outcomes.ts";
import {
  OpenRollout,
  type RolloutResponse,
  type ToldSampling,
} from "../engine/sampling/rollout.ts";
import { type Policy, type PolicyEngine, versionOf } from "./policy.ts";
import type { GeneratorTemplate, VerifierTemplate } from "./prompt_template.ts";
import {
  askVerifier,
  type Critique,
  type ProblemSource,
  readCritique,
  type Solution,
  type SolutionListener,
  verify,
} from "./responses.ts";
import type { Sampled } from "./sampled_ahead.ts";

/** Options of judging. */
export interface JudgingOptions {
  /** Critiques of each solution. */
  readonly count: number;
  readonly sampling: ToldSampling;
  /** Solutions that will be judged at most. */
  readonly solutions: number;
  /** Whether right solutions are judged too. */
  readonly judgesRight: boolean;
  /** Whether the solutions that `listener` hears of are the very ones to be judged. */
  readonly asTheyCome: boolean;
}

/**
 * Critiques of solutions. Where other ranks hold the verifier than the generator they begin as soon as a
 * solution is there, else when all are. The bits are the same: they do not depend on when a response is asked
 * for, nor on who samples it.
 */
export class Judging<Problem> {
  /** Listener to solutions as they come; null where they are judged at the end. */
  readonly listener: SolutionListener<Problem> | null;
  /** Tokens that this rank gave each rank that holds the verifier to judge. */
  readonly #given: Map<number, number>;
  readonly #found = new Map<number, Sampled[]>();
  #open: OpenRollout | null = null;

  constructor(
    generator: Policy<GeneratorTemplate>,
    private readonly verifier: Policy<VerifierTemplate>,
    private readonly source: ProblemSource<Problem>,
    private readonly options: JudgingOptions,
  ) {
    const { all, ranks } = verifier.engine;
    const isApart = !ranks.includes(generator.engine.ranks[0]);
    this.listener = options.asTheyCome && isApart
      ? {
        assign: (rollout, correct) => this.#judges(correct) ? this.#assign(rollout) : null,
        hear: (solution, place, judge) => {
          if (judge === all.rank) this.#begin(solution, place, generator.maximumResponse);
        },
      }
      : null;
    // Each rank begins with another one.
    const turned = ranks.map((_, i) => ranks[(i + all.rank) % ranks.length]);
    this.#given = new Map(turned.map((rank) => [rank, 0]));
  }

  /** The critiques of all solutions that are judged; those of one solution follow one another. All ranks call it. */
  async critiquesOf(solutions: readonly Solution<Problem>[]): Promise<Critique<Problem>[]> {
    const { verifier, source, options: { count, sampling } } = this;
    if (this.listener === null) {
      const judges = ({ correct }: Solution<Problem>) => this.#judges(correct);
      return await verify(verifier, source, solutions, count, sampling, judges);
    }
    const found = await gatherOutcomes(verifier.engine.all, () => this.#finish());
    const byPlace = new Map(found.flat());
    return solutions.flatMap((solution, place) => {
      const group = byPlace.get(place);
      if (!group) return [];
      const asked = askVerifier(verifier, source, solution);
      return group.map((sampled) => readCritique(verifier, solution, asked, sampled));
    });
  }

  #judges(correct: boolean): boolean {
    return !correct || this.options.judgesRight;
  }

  /** The rank with the fewest tokens so far. */
  #assign({ tokens }: RolloutResponse): number {
    const given = [...this.#given];
    const [judge, before] = given.reduce((least, one) => one[1] < least[1] ? one : least);
    const { verifier, options: { count } } = this;
    this.#given.set(judge, before + tokens.length + count * verifier.maximumResponse);
    return judge;
  }

  /** Begins the critiques of a solution on this rank. */
  #begin(solution: Solution<Problem>, place: number, longestSolution: number): void {
    const { verifier, source, options: { count, sampling, solutions } } = this;
    const { engine: { here, ranks }, stopTokens, maximumResponse, config } = verifier;
    if (here === null) throw new Error("this rank does not hold the verifier");
    const { prompt } = askVerifier(verifier, source, solution);
    if (this.#open === null) {
      const longest = prompt.length + longestSolution - solution.rollout.tokens.length;
      const tokens = Math.min(longest + maximumResponse, config.maxPositions);
      here.sampler.expect(Math.ceil(solutions / ranks.length) * count, tokens);
    }
    const options = { ...sampling, stopTokens, maximumResponse };
    this.#open ??= new OpenRollout(here.sampler, options);
    this.#found.set(place, new Array<Sampled>(count));
    const sequenceIds = Array.from({ length: count }, (_, i) => place * count + i);
    this.#open.ask({ prompt, sequenceIds }, (rollout) => this.#keep(here, place, rollout));
  }

  #keep(engine: PolicyEngine, place: number, rollout: RolloutResponse): void {
    const group = this.#found.get(place);
    if (!group) throw new Error(`nothing was asked about solution ${place}`);
    const { count } = this.options;
    group[rollout.sequenceId - place * count] = { rollout, version: versionOf(engine) };
  }

  /** Waits for what this rank judges. */
  async #finish(): Promise<[number, Sampled[]][]> {
    try {
      await this.#open?.finished();
    } finally {
      // Training needs the memory.
      this.verifier.engine.here?.sampler.release();
    }
    return [...this.#found];
  }
}
