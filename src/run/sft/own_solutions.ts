import { z } from "zod";
import type { Communicator } from "../../distributed/communicator.ts";
import type { DataRecord } from "../../data/files/record.ts";
import { labelStepsBeside } from "../../data/worked_critique.ts";
import { AnswerJudge } from "../../grading/answer_judge.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { withTurnEnd } from "../../model/tokenizer/stop_tokens.ts";
import { loadModelFolder } from "../../model/weights/model_folder.ts";
import { streams } from "../../random/philox.ts";
import { generatorTemplate } from "../../rl/prompt_template.ts";
import { type Solution, solve } from "../../rl/responses.ts";
import { UserError } from "../../base/user_error.ts";
import { frozenStorage } from "../config/frozen_storage.ts";
import type { OwnSolutionsConfig, SftConfig } from "../config/sft_config_schema.ts";
import type { OwnSolutions } from "../problems/example_wording.ts";
import type { FileExamples } from "../problems/file_examples.ts";
import { recordSource } from "../problems/file_problems.ts";
import { promptOf } from "../tango/policies.ts";
import { policyInTraining } from "./policy_in_training.ts";

const solutionsSchema = z.array(z.object({ steps: z.array(z.string()), answer: z.string() }));

/** What a checkpoint keeps of them, by question. */
export const sampledSolutionsSchema = z.array(
  z.tuple([z.string(), z.object({ right: solutionsSchema, wrong: solutionsSchema })]),
).nullable().default(null);

/** How many there are. */
export interface SampledCounts {
  readonly right: number;
  readonly wrong: number;
  /** Those out of format, and right ones whose steps are not the file's: no critique of them could be written. */
  readonly leftOut: number;
}

/**
 * Solutions that a generator gives to the problems that a verifier's fine-tuning draws first. They are sampled once, and
 * then part of the checkpoint.
 */
export class SampledSolutions {
  /** By question. Empty until they are sampled. */
  readonly byQuestion = new Map<string, OwnSolutions>();
  #isThere = false;

  /** @param asked the generator, and how it is asked */
  constructor(
    private readonly gpu: Gpu,
    private readonly config: SftConfig,
    private readonly asked: OwnSolutionsConfig,
    private readonly ranks: Communicator,
    private readonly examples: () => FileExamples,
  ) {}

  /** False until they are sampled, or taken from a checkpoint. */
  get isThere(): boolean {
    return this.#isThere;
  }

  /**
   * Samples them, for which the generator is on the GPU. All ranks call it.
   *
   * @throws UserError when the generator cannot be loaded, a question leaves no room for a solution, or no solution can
   *   be read
   */
  async sample(): Promise<SampledCounts> {
    const { gpu, config, asked, ranks } = this;
    const { model: path, prompt_template, max_response_length, chat, samples, temperature } = asked;
    const template = generatorTemplate(prompt_template);
    const storage = frozenStorage(config.frozen_dtype);
    const loaded = await loadModelFolder(gpu, path, { trained: false, storage });
    const judge = new AnswerJudge();
    try {
      const said = { model: path, chat, system_prompt: null };
      const { prompt, turnEnd } = promptOf(said, template, loaded.tokenizer);
      const records = this.examples().first(asked.problems);
      const positions = loaded.model.config.maxPositions;
      for (const { question } of records) {
        const { length } = loaded.tokenizer.encode(prompt.render({ question }));
        if (length + max_response_length > positions) {
          throw noRoom(asked, question, length, positions);
        }
      }
      const stopTokens = withTurnEnd(loaded.stopTokens, turnEnd);
      const generator = policyInTraining(
        { ...config, max_response_length },
        { ...loaded, stopTokens },
        ranks,
      )(prompt);
      const source = recordSource(judge, records);
      const solutions = await solve(generator, source, records, {
        ...{ count: samples, minimumSteps: 0 },
        sampling: {
          ...{ temperature, topK: 0, topP: 1, minP: 0 },
          ...{ seed: config.seed, stream: streams.ownSolutions, step: 0 },
        },
      });
      if (!solutions.some(({ parsed }) => parsed.wellFormed) && !gpu.isRehearsal) {
        throw unreadable(asked, solutions);
      }
      const counts = { right: 0, wrong: 0, leftOut: 0 };
      for (const solution of solutions) {
        const kind = kindOf(solution);
        counts[kind]++;
        if (kind === "leftOut") continue;
        const { problem: { question }, parsed: { steps, answer } } = solution;
        const own = { steps: steps.map(({ text }) => text), answer: answer ?? "" };
        const known = this.byQuestion.get(question) ?? { right: [], wrong: [] };
        this.byQuestion.set(question, { ...known, [kind]: [...known[kind], own] });
      }
      this.#isThere = true;
      return counts;
    } finally {
      judge.close();
      loaded.model.release();
    }
  }

  /** What a checkpoint keeps; null where nothing was sampled yet. */
  state(): z.output<typeof sampledSolutionsSchema> {
    if (!this.#isThere) return null;
    return [...this.byQuestion].map(([question, { right, wrong }]) => [question, {
      right: right.map(({ steps, answer }) => ({ steps: [...steps], answer })),
      wrong: wrong.map(({ steps, answer }) => ({ steps: [...steps], answer })),
    }]);
  }

  /** Takes what a checkpoint has kept. */
  adopt(state: z.output<typeof sampledSolutionsSchema>): void {
    if (state === null) return;
    for (const [question, own] of state) this.byQuestion.set(question, own);
    this.#isThere = true;
  }
}

/** Whether a critique of a solution can be written beside the file's own, and which. */
function kindOf({ problem, correct, parsed }: Solution<DataRecord>): keyof SampledCounts {
  const { wellFormed, answer } = parsed;
  if (!wellFormed || answer === null) return "leftOut";
  if (!correct) return "wrong";
  const own = problem.solutionSteps ?? [];
  const labels = labelStepsBeside(own, parsed.steps.map(({ text }) => text));
  const isOwn = answer === problem.answer && labels.length === own.length &&
    !labels.includes(false);
  return isOwn ? "right" : "leftOut";
}

function noRoom(
  { model, max_response_length }: OwnSolutionsConfig,
  question: string,
  length: number,
  positions: number,
): UserError {
  return new UserError(
    `own_solutions: the question "${
      question.slice(0, 60)
    }" takes ${length} of the ${positions} positions of ` +
      `${model}, which leaves no room for own_solutions.max_response_length, ${max_response_length}: lower it, or ` +
      `data.maximum_question_characters.`,
  );
}

function unreadable(
  { model }: OwnSolutionsConfig,
  solutions: readonly Solution<DataRecord>[],
): UserError {
  const beginning = JSON.stringify(solutions[0]?.text.slice(0, 60) ?? "");
  return new UserError(
    `own_solutions: none of ${solutions.length} solutions by ${model} is in the format of solutions; the first begins ` +
      `${beginning}. Is it a generator, and asked as it was trained (own_solutions.prompt_template, ` +
      `own_solutions.chat)?`,
  );
}
