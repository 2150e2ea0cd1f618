import { camelCased } from "../../base/camel_cased.ts";
import type { Communicator } from "../../distributed/communicator.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import {
  generatorTemplate,
  type VerifierTemplate,
  verifierTemplate,
} from "../../rl/prompt_template.ts";
import { promptTemplatePath, type SftConfig } from "../config/sft_config_schema.ts";
import {
  type CritiqueOptions,
  critiqueWording,
  solutionWording,
} from "../problems/example_wording.ts";
import type { Examples, PromptedPolicy } from "../problems/examples.ts";
import { FileExamples } from "../problems/file_examples.ts";
import { FileProblems } from "../problems/file_problems.ts";
import type { Problems, PromptFit } from "../problems/problems.ts";
import { TaskExamples } from "../problems/task_examples.ts";
import { TaskProblems } from "../problems/task_problems.ts";
import { promptOf } from "../tango/policies.ts";
import { LearnabilityMeasurement } from "./learnability_measurement.ts";
import { SampledSolutions } from "./own_solutions.ts";
import { policyInTraining } from "./policy_in_training.ts";
import { TaskMeasurement } from "./task_measurement.ts";

/** What a fine-tuning imitates, and what measures it besides the loss. */
export interface OpenedExamples {
  readonly examples: Examples;
  /** Of an embedded task. */
  readonly measurement: TaskMeasurement | null;
  /** Where `schedule.measure_start` or `measure_end` asks for it. */
  readonly learnability: LearnabilityMeasurement | null;
  /** Solutions that `own_solutions` asks for, to be sampled before the first example is drawn; null where it does not. */
  readonly own: SampledSolutions | null;
}

/**
 * Opens what a fine-tuning imitates, and what measures the policy on problems.
 *
 * @throws UserError when a file the configuration names is missing or unsound
 */
export async function openExamples(
  config: SftConfig,
  loaded: LoadedModel,
  ranks: Communicator,
): Promise<OpenedExamples> {
  const { tokenizer } = loaded;
  const { data, task, seed, evaluation } = config;
  const { prompted, turnEnd } = promptedPolicy(config, tokenizer);
  const { correctShare, judgmentLabels, judgmentWeight, critiques } = camelCased(config);
  const measured = { ...loaded, stopTokens: withTurnEnd(loaded.stopTokens, turnEnd) };
  const learnabilityOn = (problems: Problems) =>
    prompted.policy === "generator"
      ? new LearnabilityMeasurement(
        policyInTraining(config, measured, ranks)(prompted.template),
        problems,
        evaluation.seed,
        config.schedule.measure_temperature,
      )
      : null;
  const isAsked = Math.max(config.schedule.measure_start, config.schedule.measure_end) > 0;
  if (data !== null) {
    const { maxPositions } = loaded.model.config;
    const { gpu } = loaded.model;
    const own = config.own_solutions &&
      new SampledSolutions(gpu, config, config.own_solutions, ranks, () => examples);
    const critiquesOf = (template: VerifierTemplate, own: CritiqueOptions["own"]) =>
      critiqueWording(template, {
        ...{ correctShare, labels: judgmentLabels, form: critiques, own },
      });
    const wordings = prompted.policy === "generator"
      ? [solutionWording(prompted.template, data.response)]
      : [
        ...(own ? [critiquesOf(prompted.template, own.byQuestion)] : []),
        critiquesOf(prompted.template, new Map()),
      ];
    const form = { tokenizer, wordings, turnEnd, maxPositions };
    const examples = await FileExamples.open({ ...config, data }, form);
    if (!isAsked) return { examples, measurement: null, learnability: null, own };
    try {
      const fit = fitOf(config, loaded, prompted);
      const requires = { answers: true, validation: false };
      const problems = await FileProblems.open(data, seed, evaluation, fit, requires);
      const learnability = learnabilityOn(problems);
      return { examples, measurement: null, learnability, own };
    } catch (error) {
      examples[Symbol.dispose]();
      throw error;
    }
  }
  const problems = new TaskProblems(task, seed, evaluation);
  const examples = new TaskExamples(problems, tokenizer, {
    ...{ seed, evaluationSeed: evaluation.seed },
    ...{ prompted, turnEnd, correctShare, judgmentLabels, judgmentWeight },
  });
  const policy = policyInTraining(config, measured, ranks);
  const measurement = new TaskMeasurement(config, problems, examples, policy, prompted);
  const learnability = isAsked ? learnabilityOn(problems) : null;
  return { examples, measurement, learnability, own: null };
}

/** Questions whose prompt has room, and leaves room for the longest response. */
function fitOf(
  { max_response_length }: SftConfig,
  { tokenizer, model: { config: { maxPositions } } }: LoadedModel,
  { policy, template }: PromptedPolicy,
): PromptFit {
  return (question, maximumTokens) => {
    if (policy === "verifier") throw new Error("a verifier solves nothing");
    const { length } = tokenizer.encode(template.render({ question }));
    return length <= maximumTokens && length + max_response_length <= maxPositions;
  };
}

/** The policy as it is prompted, and the token that then ends a response besides the model's own, if any. */
function promptedPolicy(
  config: SftConfig,
  tokenizer: Tokenizer,
): { readonly prompted: PromptedPolicy; readonly turnEnd: number | null } {
  const { policy, chat, system_prompt, initial_model } = config;
  const said = { model: initial_model ?? "the new model", chat, system_prompt };
  const path = promptTemplatePath(config);
  if (policy === "generator") {
    const { prompt: template, turnEnd } = promptOf(said, generatorTemplate(path), tokenizer);
    return { prompted: { policy, template }, turnEnd };
  }
  const { prompt: template, turnEnd } = promptOf(said, verifierTemplate(path), tokenizer);
  return { prompted: { policy, template }, turnEnd };
}
