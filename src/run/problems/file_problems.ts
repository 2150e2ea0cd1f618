import { loadRecords } from "../../data/files/load_records.ts";
import { reportText } from "../../data/files/load_report.ts";
import type { DataRecord } from "../../data/files/record.ts";
import type { RecordOrder } from "../../data/files/record_order.ts";
import { AnswerJudge } from "../../grading/answer_judge.ts";
import type { ProblemSource } from "../../rl/responses.ts";
import { UserError } from "../../base/user_error.ts";
import { type DataConfig, dataDefaults, type DataEntry } from "../config/data_schema.ts";
import { dataFiles, loadDataSet, recordOrder, type SetAside } from "./data_set.ts";
import type { Problems, PromptFit, Requires } from "./problems.ts";

/** Problems from files, each drawn once in every pass through them. */
export class FileProblems implements Problems<DataRecord> {
  readonly source: ProblemSource<DataRecord>;
  position = 0;
  readonly #judge = new AnswerJudge();
  readonly #order: RecordOrder;

  /**
   * Reads the files.
   *
   * @throws UserError naming file and place when something cannot be read, or no problem is left
   */
  static async open(
    config: DataConfig,
    seed: number,
    setAside: SetAside,
    fit: PromptFit,
    requires: Requires,
  ): Promise<FileProblems> {
    const requireAnswer = requires.answers;
    const { train, heldOut, report } = await loadDataSet(config, { requireAnswer }, setAside);
    const fits = ({ question }: DataRecord) => fit(question, config.maximum_prompt_tokens);
    const held = heldOut.filter(fits);
    const tooLong = (problems: string) =>
      new UserError(
        `data: none of the ${problems} has a prompt of at most ${config.maximum_prompt_tokens} tokens ` +
          `that leaves room for the longest responses in the models' positions; raise ` +
          `data.maximum_prompt_tokens or lower max_response_length.`,
      );
    if (!train.some(fits)) throw tooLong(`${train.length} problems`);
    if (held.length === 0) throw tooLong(`${heldOut.length} held-out problems`);
    const passedOver = heldOut.length - held.length;
    const lines = passedOver === 0 ? report : `${report}\n${passedOver} held-out problems have ` +
      `prompts of more than ${config.maximum_prompt_tokens} tokens, or no room for responses`;
    return new FileProblems(config, seed, train, held, lines, fits);
  }

  /**
   * Reads files to be measured on alone.
   *
   * @throws UserError naming file and place when something cannot be read, or nothing is left
   */
  static async forEvaluation(files: readonly DataEntry[]): Promise<FileProblems> {
    const { records, report } = await loadRecords(files.map(dataFiles), { requireAnswer: true });
    const config = { ...dataDefaults, train: [...files] };
    return new FileProblems(config, 0, records, records, reportText(report), () => true);
  }

  private constructor(
    config: DataConfig,
    seed: number,
    private readonly train: readonly DataRecord[],
    private readonly held: readonly DataRecord[],
    readonly report: string,
    private readonly fits: (record: DataRecord) => boolean,
  ) {
    this.#order = recordOrder(train.length, seed, config.shuffle);
    this.source = {
      question: ({ question }) => question,
      referenceAnswer: ({ answer }) => answer ?? "",
      sourceName: ({ source }) => source,
      isCorrect: ({ answer: reference, comparison }, answer) =>
        reference === null ? false : this.#judge.isCorrect({ comparison, answer, reference }),
    };
  }

  get epochs(): number {
    return this.position / this.train.length;
  }

  get timeouts(): number {
    return this.#judge.timeouts;
  }

  draw(_step: number, count: number): DataRecord[] {
    const drawn: DataRecord[] = [];
    for (; drawn.length < count; this.position++) {
      const record = this.train[this.#order.indexAt(this.position)];
      if (this.fits(record)) drawn.push(record);
    }
    return drawn;
  }

  heldOut(seed: number, count: number): DataRecord[] {
    if (this.held.length <= count) return [...this.held];
    const order = recordOrder(this.held.length, seed, true);
    return Array.from({ length: count }, (_, place) => this.held[order.indexAt(place)]);
  }

  questions(count: number): string[] {
    const some = this.held.slice(0, count).map(({ question }) => question);
    for (const record of this.train) {
      if (some.length >= 2 * count) break;
      if (this.fits(record)) some.push(record.question);
    }
    return some;
  }

  [Symbol.dispose](): void {
    this.#judge.close();
  }
}
