import { camelCased } from "../../base/camel_cased.ts";
import type { Communicator } from "../../distributed/communicator.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import { generatorTemplate, verifierTemplate } from "../../rl/prompt_template.ts";
import { promptTemplatePath, type SftConfig } from "../config/sft_config_schema.ts";
import { critiqueWording, solutionWording } from "../problems/example_wording.ts";
import type { Examples, PromptedPolicy } from "../problems/examples.ts";
import { FileExamples } from "../problems/file_examples.ts";
import { TaskExamples } from "../problems/task_examples.ts";
import { TaskProblems } from "../problems/task_problems.ts";
import { promptOf } from "../tango/policies.ts";
import { TaskMeasurement } from "./task_measurement.ts";

/**
 * Opens what a fine-tuning imitates, and for an embedded task what measures the policy on its problems.
 *
 * @throws UserError when a file the configuration names is missing or unsound
 */
export async function openExamples(
  config: SftConfig,
  loaded: LoadedModel,
  ranks: Communicator,
): Promise<{ examples: Examples; measurement: TaskMeasurement | null }> {
  const { tokenizer } = loaded;
  const { data, task, seed, evaluation } = config;
  const { prompted, turnEnd } = promptedPolicy(config, tokenizer);
  const { correctShare, judgmentLabels, judgmentWeight, critiques } = camelCased(config);
  if (data !== null) {
    const { maxPositions } = loaded.model.config;
    const wording = prompted.policy === "generator"
      ? solutionWording(prompted.template, data.response)
      : critiqueWording(prompted.template, {
        correctShare,
        labels: judgmentLabels,
        form: critiques,
      });
    const form = { tokenizer, wording, turnEnd, maxPositions };
    const examples = await FileExamples.open({ ...config, data }, form);
    return { examples, measurement: null };
  }
  const problems = new TaskProblems(task, seed, evaluation);
  const examples = new TaskExamples(problems, tokenizer, {
    ...{ seed, evaluationSeed: evaluation.seed },
    ...{ prompted, turnEnd, correctShare, judgmentLabels, judgmentWeight },
  });
  const measured = { ...loaded, stopTokens: withTurnEnd(loaded.stopTokens, turnEnd) };
  const measurement = new TaskMeasurement(config, problems, examples, measured, ranks, prompted);
  return { examples, measurement };
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
