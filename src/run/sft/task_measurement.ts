import type { Metrics } from "../store/metrics_log.ts";
import type { Sampling } from "../../engine/sampling/rollout.ts";
import { Sampler } from "../../engine/sampling/sampler.ts";
import { renderSolution } from "../../data/solution_text.ts";
import { streams } from "../../random/philox.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import { evaluateGenerator, evaluateVerifier } from "../../rl/evaluation.ts";
import type { Communicator } from "../../distributed/communicator.ts";
import { onEveryRank, type Placed } from "../../distributed/placed.ts";
import type { Policy, PolicyEngine } from "../../rl/policy.ts";
import { SampledAhead } from "../../rl/sampled_ahead.ts";
import type { GeneratorTemplate, VerifierTemplate } from "../../rl/prompt_template.ts";
import type { VerifierMetrics } from "../../rl/measures/verifier_metrics.ts";
import { writtenSolution } from "../../rl/written_solution.ts";
import { solve } from "../../rl/responses.ts";
import {
  type Learnability,
  LEARNABILITY_SAMPLES,
  learnabilityOf,
} from "../../rl/measures/learnability.ts";
import { METRIC } from "../store/metric_names.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";
import { judgingMetrics } from "../tango/step_metrics.ts";
import type { PromptedPolicy } from "../problems/examples.ts";
import type { HeldOutPart } from "../problems/problems.ts";
import type { TaskExamples } from "../problems/task_examples.ts";
import type { TaskProblems } from "../problems/task_problems.ts";

/** How well a policy in supervised fine-tuning does an embedded task. */
export class TaskMeasurement {
  readonly #engine: Placed<PolicyEngine>;

  constructor(
    private readonly config: SftConfig,
    private readonly problems: TaskProblems,
    private readonly examples: TaskExamples,
    private readonly loaded: LoadedModel,
    ranks: Communicator,
    private readonly prompted: PromptedPolicy,
  ) {
    const { model } = loaded;
    const sampler = new Sampler(model, { slots: 256, stepsBetweenReadbacks: 16 });
    const ahead = new SampledAhead();
    this.#engine = onEveryRank(ranks, { model, sampler, trainer: null, ahead, reference: null });
  }

  /** Metrics of the test part. */
  async measure(step: number): Promise<Metrics> {
    const greedy = this.#greedy(step);
    const { prompted } = this;
    return prompted.policy === "generator"
      ? await this.#measureGenerator(prompted.template, greedy)
      : judgingMetrics("eval/verifier", await this.#judge(prompted.template, "test", greedy));
  }

  /** The generator's greedy accuracy, or the verifier's balanced accuracy, on the validation part. */
  async validate(): Promise<number> {
    const greedy = this.#greedy(0);
    const { prompted } = this;
    return prompted.policy === "generator"
      ? (await this.#solve(prompted.template, "validation", greedy)).accuracy
      : (await this.#judge(prompted.template, "validation", greedy)).balancedAccuracy;
  }

  /** Whether a generator's samples of some problems of the test part differ enough to learn from; null of a verifier. */
  async measureLearnability(problems: number): Promise<Learnability | null> {
    const { prompted } = this;
    if (prompted.policy !== "generator") return null;
    const solutions = await solve(
      this.#policy(prompted.template),
      this.problems.source,
      this.problems.heldOut("test").slice(0, problems),
      {
        count: LEARNABILITY_SAMPLES,
        minimumSteps: 0,
        sampling: { ...this.#greedy(0), temperature: 1, stream: streams.learnability },
      },
    );
    return learnabilityOf(solutions);
  }

  #greedy(step: number): Sampling {
    const { seed } = this.config.evaluation;
    return { temperature: 0, topK: 0, topP: 1, minP: 0, seed, stream: streams.evaluation, step };
  }

  #solve(template: GeneratorTemplate, part: HeldOutPart, sampling: Sampling) {
    const generator = this.#policy(template);
    const problems = this.problems.heldOut(part);
    return evaluateGenerator(generator, this.problems.source, problems, 1, 0, sampling);
  }

  async #judge(
    template: VerifierTemplate,
    part: HeldOutPart,
    sampling: Sampling,
  ): Promise<VerifierMetrics> {
    const verifier = this.#policy(template);
    const { source, task } = this.problems;
    const solutions = this.examples.solutionsToJudge(part).map(({ problem, solution }) => {
      const correct = task.isCorrectAnswer(problem, solution.answer);
      return writtenSolution(problem, renderSolution(solution), correct);
    });
    return (await evaluateVerifier(verifier, source, solutions, 1, sampling)).metrics;
  }

  async #measureGenerator(template: GeneratorTemplate, greedy: Sampling): Promise<Metrics> {
    const { accuracy, wellFormedShare } = await this.#solve(template, "test", greedy);
    const sampled = await this.#solve(template, "test", { ...greedy, temperature: 1 });
    return {
      [METRIC.generatorAccuracy]: accuracy,
      "eval/generator/sampled_accuracy": sampled.accuracy,
      "eval/generator/well_formed": wellFormedShare,
    };
  }

  #policy<Template>(template: Template): Policy<Template> {
    const { model: { config, parameterCount }, tokenizer, stopTokens } = this.loaded;
    return {
      tokenizer,
      template,
      stopTokens,
      maximumResponse: this.config.max_response_length,
      maximumPrompt: null,
      config,
      parameterCount,
      isTrained: true,
      engine: this.#engine,
    };
  }
}
