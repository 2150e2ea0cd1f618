import type { Metrics } from "../store/metrics_log.ts";
import type { Sampling } from "../../engine/sampling/rollout.ts";
import { renderSolution } from "../../data/solution_text.ts";
import { streams } from "../../random/philox.ts";
import { evaluateGenerator, evaluateVerifier } from "../../rl/evaluation.ts";
import type { GeneratorTemplate, VerifierTemplate } from "../../rl/prompt_template.ts";
import type { VerifierMetrics } from "../../rl/measures/verifier_metrics.ts";
import { writtenSolution } from "../../rl/written_solution.ts";
import { METRIC } from "../store/metric_names.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";
import { judgingMetrics } from "../tango/step_metrics.ts";
import type { PromptedPolicy } from "../problems/examples.ts";
import type { HeldOutPart } from "../problems/problems.ts";
import type { TaskExamples } from "../problems/task_examples.ts";
import type { TaskProblems } from "../problems/task_problems.ts";
import type { PolicyInTraining } from "./policy_in_training.ts";

/** How well a policy in supervised fine-tuning does an embedded task. */
export class TaskMeasurement {
  constructor(
    private readonly config: SftConfig,
    private readonly problems: TaskProblems,
    private readonly examples: TaskExamples,
    private readonly policy: PolicyInTraining,
    private readonly prompted: PromptedPolicy,
  ) {}

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

  #greedy(step: number): Sampling {
    const { seed } = this.config.evaluation;
    return { temperature: 0, topK: 0, topP: 1, minP: 0, seed, stream: streams.evaluation, step };
  }

  #solve(template: GeneratorTemplate, part: HeldOutPart, sampling: Sampling) {
    const generator = this.policy(template);
    const problems = this.problems.heldOut(part);
    return evaluateGenerator(generator, this.problems.source, problems, 1, 0, sampling);
  }

  async #judge(
    template: VerifierTemplate,
    part: HeldOutPart,
    sampling: Sampling,
  ): Promise<VerifierMetrics> {
    const verifier = this.policy(template);
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
}
