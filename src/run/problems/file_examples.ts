import type { DataRecord } from "../../data/files/record.ts";
import type { RecordOrder } from "../../data/files/record_order.ts";
import { RandomStream, streams } from "../../random/philox.ts";
import type { Tokenizer } from "../../model/tokenizer/tokenizer.ts";
import type { SupervisedSample } from "../../rl/update/supervised_update.ts";
import { UserError } from "../../base/user_error.ts";
import { type DataSet, loadDataSet, recordOrder, trainingOrder } from "./data_set.ts";
import { encodeExample } from "./encode_example.ts";
import type { HeldOutPart } from "./problems.ts";
import type { Wording } from "./example_wording.ts";
import type { Examples } from "./examples.ts";
import { choosesWeights, type SftConfig } from "../config/sft_config_schema.ts";

/** How a question and its response become tokens. */
export interface ExampleForm {
  readonly tokenizer: Tokenizer;
  /** The first whose example is no longer than it may be words a record. */
  readonly wordings: readonly Wording[];
  /** The token that ends a response; null: the tokenizer's end of a sequence. */
  readonly turnEnd: number | null;
  /** Tokens of the longest sequence that the model has positions for. */
  readonly maxPositions: number;
}

type FileConfig = SftConfig & { readonly data: NonNullable<SftConfig["data"]> };

/** Solutions, or critiques of them, of problems from files, each drawn once in every pass through them. */
export class FileExamples implements Examples {
  position = 0;
  readonly #order: RecordOrder;

  /**
   * Reads the files.
   *
   * @throws UserError naming file and place when something cannot be read, or nothing is left
   */
  static async open(
    config: FileConfig,
    form: ExampleForm,
  ): Promise<FileExamples> {
    const { data, policy } = config;
    // Critiques are about steps and an answer.
    const requires = data.response === "steps" || policy === "verifier"
      ? { requireSteps: true, requireAnswer: true }
      : { requireSolution: true, requireRejected: config.preferences !== null };
    const set = await loadDataSet(data, { ...requires, validation: choosesWeights(config) });
    const judgmentWeight = policy === "verifier" ? config.judgment_weight : 1;
    return new FileExamples({ ...config, data }, set, { ...form, judgmentWeight });
  }

  private constructor(
    private readonly config: FileConfig,
    private readonly set: DataSet,
    private readonly form: ExampleForm & { readonly judgmentWeight: number },
  ) {
    this.#order = trainingOrder(set.weights, config.seed, config.data.shuffle);
    this.some(1);
  }

  get report(): string {
    return this.set.report;
  }

  get count(): number {
    return this.set.train.length;
  }

  get epochs(): number {
    return this.position / this.#order.count;
  }

  draw(_step: number, count: number): SupervisedSample[] {
    const drawn: SupervisedSample[] = [];
    const { train } = this.set;
    for (let left = count; left > 0; this.position++) {
      const record = train[this.#order.indexAt(this.position)];
      const example = this.#example(record, this.config.seed, this.position + 1, 0);
      if (!example) continue;
      drawn.push(...example);
      left--;
    }
    return drawn;
  }

  /** The records that are drawn first, as far as there are so many. */
  first(count: number): DataRecord[] {
    const { train } = this.set;
    return Array.from(
      { length: Math.min(count, train.length) },
      (_, place) => train[this.#order.indexAt(place)],
    );
  }

  heldOut(part: HeldOutPart): SupervisedSample[] {
    const { seed, problems } = this.config.evaluation;
    const held = this.set[part];
    const order = recordOrder(held.length, seed, held.length > problems);
    return this.#fitting(held.map((_, place) => held[order.indexAt(place)]), seed, problems);
  }

  some(count: number): SupervisedSample[] {
    return this.#fitting(this.set.train, this.config.seed, count);
  }

  [Symbol.dispose](): void {}

  #fitting(records: readonly DataRecord[], seed: number, count: number): SupervisedSample[] {
    const examples: SupervisedSample[][] = [];
    for (const [place, record] of records.entries()) {
      if (examples.length === count) break;
      const example = this.#example(record, seed, 0, place);
      if (example) examples.push(example);
    }
    if (examples.length === 0) throw this.#nothingFits();
    return examples.flat();
  }

  /**
   * Null when it, or either response of a pair, is longer than the configuration or the model allows.
   *
   * @param step with `place`, what an example's random numbers are keyed by; 0 in what is held out
   */
  #example(
    record: DataRecord,
    seed: number,
    step: number,
    place: number,
  ): SupervisedSample[] | null {
    const { tokenizer, wordings, turnEnd: end, judgmentWeight } = this.form;
    for (const wording of wordings) {
      const random = new RandomStream(seed, streams.supervision, step, place);
      const { prompt, response } = wording(record, () => random.uniform());
      const { rejected } = record;
      const responses = this.config.preferences === null ? [response] : [response, rejected ?? ""];
      const example = responses.map((text) =>
        encodeExample(tokenizer, prompt, text, { end, judgmentWeight })
      );
      if (example.every((sample) => this.#fits(sample))) return example;
    }
    return null;
  }

  #fits({ prompt: { length: prompted }, response: { length: responded } }: SupervisedSample) {
    const { maximum_prompt_tokens, maximum_response_tokens } = this.config.data;
    return prompted <= maximum_prompt_tokens && responded <= maximum_response_tokens &&
      prompted + responded <= this.form.maxPositions;
  }

  #nothingFits(): UserError {
    const { maximum_prompt_tokens, maximum_response_tokens } = this.config.data;
    return new UserError(
      `data: no example has a prompt of at most ${maximum_prompt_tokens} tokens and a response of at ` +
        `most ${maximum_response_tokens}, together at most the model's ${this.form.maxPositions} positions; ` +
        `raise data.maximum_prompt_tokens or data.maximum_response_tokens.`,
    );
  }
}
