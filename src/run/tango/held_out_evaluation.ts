import { camelCased } from "../../base/camel_cased.ts";
import type { Metrics } from "../store/metrics_log.ts";
import type { Sampling } from "../../engine/sampling/rollout.ts";
import { streams } from "../../random/philox.ts";
import {
  evaluateGenerator,
  evaluateVerifier,
  type GeneratorMeasures,
} from "../../rl/evaluation.ts";
import { auroc } from "../../rl/measures/step_judgments.ts";
import { rewriteFlagged } from "../../rl/rewriting.ts";
import { scoreSolutions } from "../../rl/reward_model.ts";
import type { SolutionScore } from "../../rl/reward/solution_score.ts";
import { judgeSolutions, type WeighedSolution } from "../../rl/solution_quality.ts";
import type { Policy } from "../../rl/policy.ts";
import type { GeneratorTemplate, VerifierTemplate } from "../../rl/prompt_template.ts";
import { type Critique, type Solution, solve } from "../../rl/responses.ts";
import { mean } from "../../base/statistics.ts";
import {
  type Learnability,
  LEARNABILITY_SAMPLES,
  learnabilityOf,
  learnabilityProblems,
} from "../../rl/measures/learnability.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { temperatureOf } from "../config/loss_options.ts";
import { METRIC } from "../store/metric_names.ts";
import type { Problems } from "../problems/problems.ts";
import { rewritingMetrics } from "./rewriting_metrics.ts";
import type { Policies } from "./policies.ts";
import { rewardModelMetrics } from "./reward_model_metrics.ts";
import { rewardModelOf } from "./reward_models.ts";
import { judgingMetrics } from "./step_metrics.ts";

/** How the configuration samples solutions, with the random numbers of a stream and step. */
export function rolloutSampling(
  { seed, rollout }: TangoConfig,
  stream: number,
  step: number,
): Sampling {
  const { temperature, topK, topP, minP } = camelCased(rollout);
  return { temperature, topK, topP, minP, seed, stream, step };
}

/** How it samples critiques. */
export function critiqueSampling(config: TangoConfig, stream: number, step: number): Sampling {
  return {
    ...rolloutSampling(config, stream, step),
    temperature: temperatureOf(config, "verifier"),
  };
}

/** pass@k, maj@k and what a verifier chooses, which only several samples of each problem give. */
function sampledMetrics(
  prefix: string,
  { passAt, majorityAt, bestAt = {}, voteAt = {} }: GeneratorMeasures,
): Metrics {
  const named = (kind: string, values: Readonly<Record<number, number>>) =>
    Object.entries(values).map(([k, value]) => [`${prefix}/${kind}_at_${k}`, value]);
  return Object.fromEntries([
    ...named("pass", passAt),
    ...named("maj", majorityAt),
    ...named("bon", bestAt),
    ...named("vote", voteAt),
  ]);
}

/** How a verifier is used at test time. */
export interface TestTimeOptions {
  /** Critiques of each solution: 1 is greedy, more are sampled. */
  readonly critiques: number;
  /** Times that a solution is rewritten from the first flagged step, at most. */
  readonly rewrites: number;
}

/** Measures policies on problems that training never sees, the same ones every time. */
export class HeldOutEvaluation {
  readonly #problems: readonly unknown[];

  /** Number of problems; fewer than asked for where the files have no more. */
  get count(): number {
    return this.#problems.length;
  }

  constructor(private readonly config: TangoConfig, private readonly problems: Problems) {
    this.#problems = problems.heldOut("test");
  }

  /**
   * Measures what weights are chosen by: the share of the validation problems that the generator solves.
   *
   * @param step keys the random numbers
   */
  async validate(generator: Policy<GeneratorTemplate>, step: number): Promise<number> {
    const { accuracy } = await evaluateGenerator(
      generator,
      this.problems.source,
      this.problems.heldOut("validation"),
      this.config.evaluation.samples,
      this.config.rewards.minimum_steps,
      this.#greedyForOne(this.#sampling(streams.validation, step)),
    );
    return accuracy;
  }

  /**
   * How many problems the generator solves: greedily with one sample each, else over all samples.
   *
   * @param step keys the random numbers
   * @param judge tells the quality of each solution, see `evaluateGenerator`
   */
  async measureGenerator(
    generator: Policy<GeneratorTemplate>,
    step: number,
    judge?: (solutions: readonly Solution<unknown>[]) => Promise<readonly number[]>,
  ): Promise<{ metrics: Metrics; solutions: readonly Solution<unknown>[] }> {
    const { evaluation, rewards } = this.config;
    const found = await evaluateGenerator(
      generator,
      this.problems.source,
      this.#problems,
      evaluation.samples,
      rewards.minimum_steps,
      this.#greedyForOne(this.#sampling(streams.evaluation, step)),
      judge,
    );
    const metrics: Record<string, number> = {
      [METRIC.evaluatedProblems]: this.count,
      [METRIC.generatorAccuracy]: found.accuracy,
      ...(found.soundAccuracy === null
        ? {}
        : { [METRIC.generatorSoundAccuracy]: found.soundAccuracy }),
      "eval/generator/mean_length": found.meanLength,
      "eval/generator/mean_steps": found.meanSteps,
      "eval/generator/well_formed": found.wellFormedShare,
      ...(evaluation.samples > 1 ? sampledMetrics("eval/generator", found) : {}),
    };
    if (found.bySource.size > 1) {
      for (const [name, measures] of found.bySource) {
        const prefix = `eval/generator/by_source/${name}`;
        metrics[`${prefix}/accuracy`] = measures.accuracy;
        if (evaluation.samples > 1) Object.assign(metrics, sampledMetrics(prefix, measures));
      }
    }
    return { metrics, solutions: found.solutions };
  }

  /** Whether the generator's samples differ enough to learn from, before any step. */
  async measureLearnability(generator: Policy<GeneratorTemplate>): Promise<Learnability> {
    const { schedule, rewards } = this.config;
    const { source } = this.problems;
    const problems = learnabilityProblems(
      this.#problems,
      schedule.measure_start,
      source.sourceName,
    );
    const solutions = await solve(generator, source, problems, {
      count: LEARNABILITY_SAMPLES,
      minimumSteps: rewards.minimum_steps,
      sampling: this.#sampling(streams.learnability, 0),
    });
    return learnabilityOf(solutions);
  }

  /**
   * What the generator solves with a verifier's help: of several samples of a problem the best is chosen, or they vote by
   * their quality, and solutions are rewritten from the first flagged step.
   *
   * @param step keys the random numbers of what is solved and judged first
   */
  async measureTestTime(
    generator: Policy<GeneratorTemplate>,
    verifier: Policy<VerifierTemplate>,
    { critiques: count, rewrites: rounds }: TestTimeOptions,
    step: number,
  ): Promise<{ metrics: Metrics }> {
    const { source } = this.problems;
    const rewardModel = rewardModelOf(this.config, { verifier }, source);
    const judge = async (solutions: readonly Solution<unknown>[], round: number) => {
      if (rewardModel) {
        const scores = await scoreSolutions(rewardModel, solutions);
        return solutions.map((solution, i) => ({
          ...{ solution, critiques: [], quality: scores[i].probability },
        }));
      }
      const sampling = this.#critiqueSampling(step + round);
      const drawn = count === 1 ? { ...sampling, temperature: 0 } : sampling;
      return await judgeSolutions(verifier, source, solutions, count, drawn);
    };
    let judged: readonly WeighedSolution<unknown>[] = [];
    const { metrics } = await this.measureGenerator(generator, step, async (solutions) => {
      judged = await judge(solutions, 0);
      return judged.map(({ quality }) => quality);
    });
    const right = judged.filter(({ solution }) => solution.correct).length;
    const scores = judged.map(({ solution, quality }) => ({
      score: -quality,
      isWrong: !solution.correct,
    }));
    const chosen = {
      ...metrics,
      ...(rewardModel ? {} : {
        "eval/verifier/verdict_unparsed": mean(
          judged.flatMap(({ critiques }) => critiques)
            .map(({ parsed }) => parsed.verdict === null ? 1 : 0),
        ),
      }),
      // It takes solutions of both kinds.
      ...(right > 0 && right < judged.length ? { [METRIC.qualityAuroc]: auroc(scores) } : {}),
    };
    if (rounds === 0) return { metrics: chosen };
    const rewriting = await rewriteFlagged(generator, source, judged, {
      ...{ rounds, minimumSteps: this.config.rewards.minimum_steps },
      sampling: (round) => this.#sampling(streams.continuations, step + round),
      judge,
    });
    return { metrics: { ...chosen, ...rewritingMetrics(judged, rewriting) } };
  }

  /**
   * How well the verifier judges what it meets in training: one solution of each problem, sampled by the
   * generator as in a rollout. The verdicts are greedy with one sample each, else sampled too; a reward model's scores
   * are what they are.
   *
   * @param step keys the random numbers
   */
  async measureVerifier({ generator, verifier }: Policies, step: number): Promise<{
    metrics: Metrics;
    solutions: readonly Solution<unknown>[];
    critiques: readonly Critique<unknown>[];
    scores: readonly SolutionScore[];
  }> {
    if (verifier === null) throw new Error("there is no verifier to measure");
    const { evaluation, rewards } = this.config;
    const solutions = await solve(
      generator,
      this.problems.source,
      this.#problems,
      {
        count: 1,
        minimumSteps: rewards.minimum_steps,
        sampling: this.#sampling(streams.evaluation, step),
      },
    );
    const sampledAccuracy = mean(solutions.map(({ correct }) => correct ? 1 : 0));
    const rewardModel = rewardModelOf(this.config, { verifier }, this.problems.source);
    if (rewardModel) {
      const scores = await scoreSolutions(rewardModel, solutions);
      const scored = solutions.map((solution, i) => ({ solution, score: scores[i] }));
      return {
        metrics: {
          "eval/generator/sampled_accuracy": sampledAccuracy,
          ...rewardModelMetrics("eval/verifier", this.problems.source, scored),
        },
        ...{ solutions, scores, critiques: [] },
      };
    }
    const { metrics, meanLength, critiques } = await evaluateVerifier(
      verifier,
      this.problems.source,
      solutions,
      evaluation.samples,
      this.#greedyForOne(this.#critiqueSampling(step)),
    );
    return {
      metrics: {
        "eval/generator/sampled_accuracy": sampledAccuracy,
        ...judgingMetrics("eval/verifier", metrics),
        "eval/verifier/mean_length": meanLength,
      },
      ...{ solutions, critiques, scores: [] },
    };
  }

  #sampling(stream: number, step: number): Sampling {
    return { ...rolloutSampling(this.config, stream, step), seed: this.config.evaluation.seed };
  }

  #critiqueSampling(step: number): Sampling {
    const sampling = critiqueSampling(this.config, streams.verifierEvaluation, step);
    return { ...sampling, seed: this.config.evaluation.seed };
  }

  /** The likeliest response where each problem has one. */
  #greedyForOne(sampling: Sampling): Sampling {
    return this.config.evaluation.samples === 1 ? { ...sampling, temperature: 0 } : sampling;
  }
}
