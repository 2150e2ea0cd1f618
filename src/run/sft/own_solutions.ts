import type { WorkedSolution } from "../../data/corrupt_numbers.ts";
import type { Communicator } from "../../distributed/communicator.ts";
import { AnswerJudge } from "../../grading/answer_judge.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import { loadModelFolder } from "../../model/weights/model_folder.ts";
import { streams } from "../../random/philox.ts";
import { generatorTemplate } from "../../rl/prompt_template.ts";
import { solve } from "../../rl/responses.ts";
import { UserError } from "../../base/user_error.ts";
import { frozenStorage } from "../config/frozen_storage.ts";
import type { OwnSolutionsConfig, SftConfig } from "../config/sft_config_schema.ts";
import type { FileExamples } from "../problems/file_examples.ts";
import { recordSource } from "../problems/file_problems.ts";
import { promptOf } from "../tango/policies.ts";
import { policyInTraining } from "./policy_in_training.ts";

/**
 * Wrong solutions that a generator gives to the problems that a verifier's fine-tuning draws first. They depend on the
 * seed, the problems and the generator alone, so that a run that goes on has the same ones.
 */
export class OwnSolutions {
  /** By question. Empty until they are sampled. */
  readonly wrong = new Map<string, readonly WorkedSolution[]>();

  /** @param asked how the generator is asked */
  constructor(
    private readonly gpu: Gpu,
    private readonly config: SftConfig,
    private readonly asked: OwnSolutionsConfig,
    private readonly ranks: Communicator,
  ) {}

  /**
   * Samples them, for which the generator is on the GPU. All ranks call it.
   *
   * @returns one line about them
   * @throws UserError when the generator cannot be loaded, or a question leaves no room for a solution
   */
  async sample(examples: FileExamples): Promise<string> {
    const { gpu, config, asked, ranks } = this;
    const { model: path, prompt_template, max_response_length, problems: most } = asked;
    const { samples: count, temperature } = asked;
    const template = generatorTemplate(prompt_template);
    const storage = frozenStorage(config.frozen_dtype);
    const loaded = await loadModelFolder(gpu, path, { trained: false, storage });
    const judge = new AnswerJudge();
    try {
      const { chat, system_prompt } = config;
      const said = { model: path, chat, system_prompt };
      const { prompt, turnEnd } = promptOf(said, template, loaded.tokenizer);
      const stopTokens = withTurnEnd(loaded.stopTokens, turnEnd);
      const sampled = { ...config, max_response_length };
      const generator = policyInTraining(sampled, { ...loaded, stopTokens }, ranks)(prompt);
      const records = examples.first(most);
      for (const { question } of records) {
        const { length } = loaded.tokenizer.encode(prompt.render({ question }));
        const positions = loaded.model.config.maxPositions;
        if (length + max_response_length <= positions) continue;
        throw new UserError(
          `own_solutions: the question "${
            question.slice(0, 60)
          }" takes ${length} of the ${positions} positions of ${path}, which leaves no room for ` +
            `own_solutions.max_response_length, ${max_response_length}: lower it, or data.maximum_question_characters.`,
        );
      }
      const solutions = await solve(generator, recordSource(judge, records), records, {
        ...{ count, minimumSteps: 0 },
        sampling: {
          ...{ temperature, topK: 0, topP: 1, minP: 0 },
          ...{ seed: config.seed, stream: streams.ownSolutions, step: 0 },
        },
      });
      for (const { problem, correct, parsed: { wellFormed, steps, answer } } of solutions) {
        if (correct || !wellFormed || answer === null) continue;
        const own = { steps: steps.map(({ text }) => text), answer };
        this.wrong.set(problem.question, [...this.wrong.get(problem.question) ?? [], own]);
      }
      return `${this.wrong.size} of the first ${records.length} problems have a wrong solution of ${path}`;
    } finally {
      judge.close();
      loaded.model.release();
    }
  }
}
