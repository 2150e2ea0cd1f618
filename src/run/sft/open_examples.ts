import { generatorTemplate, verifierTemplate } from "../../rl/prompt_template.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import type { LoadedModel } from "../../model/weights/model_folder.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";
import { critiqueWording, solutionWording } from "../problems/example_wording.ts";
import type { Examples } from "../problems/examples.ts";
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
): Promise<{ examples: Examples; measurement: TaskMeasurement | null }> {
  const { tokenizer } = loaded;
  const { data, chat, system_prompt, initial_model } = config;
  const said = { model: initial_model ?? "the new model", chat, system_prompt };
  const { prompt: generator, turnEnd } = promptOf(
    said,
    generatorTemplate(config.generator_prompt_template),
    tokenizer,
  );
  const written = verifierTemplate(config.verifier_prompt_template);
  const { prompt: verifier } = promptOf(said, written, tokenizer);
  if (data !== null) {
    const { maxPositions } = loaded.model.config;
    const wording = config.policy === "generator"
      ? solutionWording(generator, data.response)
      : critiqueWording(verifier, config.correct_share, config.verifier_labels);
    const form = { tokenizer, wording, turnEnd, maxPositions };
    const examples = await FileExamples.open({ ...config, data }, form);
    return { examples, measurement: null };
  }
  const problems = new TaskProblems(config.task, config.seed, config.evaluation);
  const examples = new TaskExamples(problems, tokenizer, {
    seed: config.seed,
    evaluationSeed: config.evaluation.seed,
    policy: config.policy,
    generatorTemplate: generator,
    verifierTemplate: verifier,
    turnEnd,
    correctShare: config.correct_share,
    verifierLabels: config.verifier_labels,
    judgmentWeight: config.judgment_weight,
  });
  const templates = { generator, verifier };
  const measured = { ...loaded, stopTokens: withTurnEnd(loaded.stopTokens, turnEnd) };
  const measurement = new TaskMeasurement(config, problems, examples, measured, templates);
  return { examples, measurement };
}
