import { loadRecords } from "../../data/files/load_records.ts";
import { reportText } from "../../data/files/load_report.ts";
import type { DataRecord } from "../../data/files/record.ts";
import type { RecordOrder } from "../../data/files/record_order.ts";
import { isTerse, labelStepsBeside, readWorkedResult } from "../../data/worked_critique.ts";
import { AnswerJudge } from "../../grading/answer_judge.ts";
import type { ProblemSource } from "../../rl/responses.ts";
import { UserError } from "../../base/user_error.ts";
import type { DataConfig, DataEntry } from "../config/data_schema.ts";
import { dataFiles, loadDataSet, recordOrder, trainingOrder } from "./data_set.ts";
import type { HeldOutChoice, HeldOutPart, Problems, PromptFit, Requires } from "./problems.ts";

/**
 * Problems from files, as the RL loop uses them. Where the solution of each of them is one calculation a step, steps are
 * labelled by comparing the k-th with the k-th of the file's solution; for measuring.
 */
export function recordSource(
  judge: AnswerJudge,
  records: readonly DataRecord[],
): ProblemSource<DataRecord> {
  const isLabelled = records.every(({ solutionSteps }) => isTerse(solutionSteps));
  return {
    question: ({ question }) => question,
    referenceAnswer: ({ answer }) => answer ?? "",
    sourceName: ({ source }) => source,
    isCorrect: ({ answer: reference, comparison }, answer) =>
      reference === null ? false : judge.isCorrect({ comparison, answer, reference }),
    isSameAnswer: ({ comparison }, answer, other) =>
      judge.isCorrect({ comparison, answer, reference: other }),
    ...(isLabelled && {
      labelSteps: ({ solutionSteps }, steps) => labelStepsBeside(solutionSteps ?? [], steps),
      neededSteps: ({ solutionSteps }) => solutionSteps?.length ?? 0,
      readOwnResult: readWorkedResult,
    }),
  };
}

/** Problems from files, each drawn once in every pass through them. */
export class FileProblems implements Problems<DataRecord> {
  readonly source: ProblemSource<DataRecord>;
  position = 0;
  readonly #judge = new AnswerJudge();

  /**
   * Reads the files.
   *
   * @throws UserError naming file and place when something cannot be read, or no problem is left
   */
  static async open(
    config: DataConfig,
    seed: number,
    measured: HeldOutChoice,
    fit: PromptFit,
    { answers: requireAnswer, validation }: Requires,
  ): Promise<FileProblems> {
    const set = await loadDataSet(config, { requireAnswer, validation });
    const fits = ({ question }: DataRecord) => fit(question, config.maximum_prompt_tokens);
    const tooLong = (problems: string) =>
      new UserError(
        `data: none of the ${problems} has a prompt of at most ${config.maximum_prompt_tokens} tokens ` +
          `that leaves room for the longest responses in the models' positions; raise ` +
          `data.maximum_prompt_tokens or lower max_response_length.`,
      );
    const { train, weights, report } = set;
    if (!train.some(fits)) throw tooLong(`${train.length} problems`);
    const fitting = (records: readonly DataRecord[], name: string, isNeeded: boolean) => {
      const fitted = records.filter(fits);
      if (isNeeded && fitted.length === 0) throw tooLong(`${records.length} ${name}`);
      return fitted;
    };
    const test = fitting(set.test, "held-out problems", set.test.length > 0);
    const held = { test, validation: fitting(set.validation, "validation problems", validation) };
    const passedOver = set.test.length - test.length;
    const lines = passedOver === 0 ? report : `${report}\n${passedOver} held-out problems have ` +
      `prompts of more than ${config.maximum_prompt_tokens} tokens, or no room for responses`;
    const order = trainingOrder(weights, seed, config.shuffle);
    return new FileProblems(measured, train, order, held, lines, passedOver, fits);
  }

  /**
   * Reads files to be measured on alone; problems whose prompts are too long for the models are passed over.
   *
   * @throws UserError naming file and place when something cannot be read, or nothing is left
   */
  static async forEvaluation(
    files: readonly DataEntry[],
    measured: HeldOutChoice,
    fit: PromptFit,
  ): Promise<FileProblems> {
    const { records, report } = await loadRecords(files.map(dataFiles), {
      requireAnswer: true,
      keepDuplicates: true,
    });
    const test = records.filter(({ question }) => fit(question, Infinity));
    if (test.length === 0) {
      throw new UserError(
        `${
          files.map(({ path }) => path).join(", ")
        }: none of the ${records.length} problems has a prompt ` +
          "that leaves room for the longest responses in the model's positions; set a lower " +
          "max_response_length.",
      );
    }
    const held = { test, validation: [] };
    const passedOver = records.length - test.length;
    const lines = reportText(report);
    const order = recordOrder(test.length, 0, true);
    return new FileProblems(measured, test, order, held, lines, passedOver, () => true);
  }

  private constructor(
    private readonly measured: HeldOutChoice,
    private readonly train: readonly DataRecord[],
    private readonly order: RecordOrder,
    private readonly held: Readonly<Record<HeldOutPart, readonly DataRecord[]>>,
    readonly report: string,
    readonly passedOver: number,
    private readonly fits: (record: DataRecord) => boolean,
  ) {
    this.source = recordSource(this.#judge, [...train, ...held.test, ...held.validation]);
  }

  get epochs(): number {
    return this.position / this.order.count;
  }

  get timeouts(): number {
    return this.#judge.timeouts;
  }

  draw(_step: number, count: number): DataRecord[] {
    const drawn: DataRecord[] = [];
    for (; drawn.length < count; this.position++) {
      const record = this.train[this.order.indexAt(this.position)];
      if (this.fits(record)) drawn.push(record);
    }
    return drawn;
  }

  heldOut(part: HeldOutPart): readonly DataRecord[] {
    const held = this.held[part];
    const count = this.measured.problems ?? held.length;
    if (held.length <= count) return held;
    const order = recordOrder(held.length, this.measured.seed, true);
    return Array.from({ length: count }, (_, place) => held[order.indexAt(place)]);
  }

  questions(count: number): string[] {
    const some = this.held.test.slice(0, count).map(({ question }) => question);
    for (const record of [...this.held.validation.slice(0, count), ...this.train]) {
      if (some.length >= 2 * count) break;
      if (this.fits(record)) some.push(record.question);
    }
    return some;
  }

  [Symbol.dispose](): void {
    this.#judge.close();
  }
}
