import type { Sampling } from "../../engine/rollout.ts";
import { Sampler } from "../../engine/sampler.ts";
import { renderSolution } from "../../data/solution_text.ts";
import type { Problem } from "../../data/task.ts";
import { RandomStream, streams } from "../../random/philox.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import { evaluateGenerator, evaluateVerifier } from "../../rl/evaluation.ts";
import type { Policy } from "../../rl/policy.ts";
import type { GeneratorTemplate, VerifierTemplate } from "../../rl/prompt_template.ts";
import { writtenSolution } from "../../rl/written_solution.ts";
import { METRIC } from "../store/metric_names.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";
import { judgingMetrics, type Metrics } from "../tango/step_metrics.ts";
import type { TaskExamples } from "../problems/task_examples.ts";
import type { TaskProblems } from "../problems/task_problems.ts";

/** How well a policy in supervised fine-tuning does an embedded task. */
export class TaskMeasurement {
  readonly #sampler: Sampler;

  constructor(
    private readonly config: SftConfig,
    private readonly problems: TaskProblems,
    private readonly examples: TaskExamples,
    private readonly loaded: LoadedModel,
    private readonly templates: {
      readonly generator: GeneratorTemplate;
      readonly verifier: VerifierTemplate;
    },
  ) {
    this.#sampler = new Sampler(loaded.model, { slots: 256, stepsBetweenReadbacks: 16 });
  }

  /** The generator's greedy accuracy, or the verifier's balanced accuracy, and all that was measured. */
  async measure(step: number): Promise<{ accuracy: number; metrics: Metrics }> {
    const { seed, problems: count } = this.config.evaluation;
    const problems = this.problems.heldOut(seed, count);
    const greedy: Sampling = {
      temperature: 0,
      topK: 0,
      topP: 1,
      minP: 0,
      seed,
      stream: streams.evaluation,
      step,
    };
    return this.config.policy === "generator"
      ? await this.#measureGenerator(problems, greedy)
      : await this.#measureVerifier(problems, greedy);
  }

  async #measureGenerator(problems: readonly Problem[], greedy: Sampling) {
    const generator = this.#policy(this.templates.generator);
    const evaluate = (sampling: Sampling) =>
      evaluateGenerator(generator, this.problems.source, problems, 1, 0, sampling);
    const { accuracy, wellFormedShare } = await evaluate(greedy);
    const sampled = await evaluate({ ...greedy, temperature: 1 });
    const metrics = {
      [METRIC.generatorAccuracy]: accuracy,
      "eval/generator/sampled_accuracy": sampled.accuracy,
      "eval/generator/well_formed": wellFormedShare,
    };
    return { accuracy, metrics };
  }

  async #measureVerifier(problems: readonly Problem[], greedy: Sampling) {
    const verifier = this.#policy(this.templates.verifier);
    const solutions = problems.map((problem, i) => {
      const random = new RandomStream(greedy.seed, streams.supervision, 0, i);
      const parts = this.examples.solutionToJudge(problem, () => random.uniform());
      const correct = this.problems.task.isCorrectAnswer(problem, parts.answer);
      return writtenSolution(problem, renderSolution(parts), correct);
    });
    const { source } = this.problems;
    const { metrics } = await evaluateVerifier(verifier, source, solutions, 1, greedy);
    return {
      accuracy: metrics.balancedAccuracy,
      metrics: judgingMetrics("eval/verifier", metrics),
    };
  }

  #policy<Template>(template: Template): Policy<Template> {
    const { model, tokenizer, stopTokens } = this.loaded;
    return {
      model,
      tokenizer,
      template,
      stopTokens,
      maximumResponse: this.config.evaluation.max_response_length,
      sampler: this.#sampler,
      trainer: null,
      reference: null,
    };
  }
}
