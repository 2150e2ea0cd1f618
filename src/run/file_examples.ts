import type { DataRecord } from "../data/files/record.ts";
import type { RecordOrder } from "../data/files/record_order.ts";
import { renderSolutionLines } from "../data/solution_text.ts";
import type { Tokenizer } from "../model/tokenizer.ts";
import type { GeneratorTemplate } from "../rl/prompt_template.ts";
import type { SupervisedSample } from "../rl/supervised_update.ts";
import { UserError } from "../user_error.ts";
import { loadDataSet, recordOrder } from "./data_set.ts";
import { encodeExample } from "./encode_example.ts";
import type { Examples } from "./examples.ts";
import type { SftConfig } from "./sft_config_schema.ts";

/** Questions and their solutions from files, each drawn once in every pass through them. */
export class FileExamples implements Examples {
  position = 0;
  readonly #order: RecordOrder;

  /**
   * Reads the files.
   *
   * @param turnEnd the token that ends a response; null: the tokenizer's end of a sequence
   * @throws UserError naming file and place when something cannot be read, or nothing is left
   */
  static async open(
    config: SftConfig & { readonly data: NonNullable<SftConfig["data"]> },
    tokenizer: Tokenizer,
    template: GeneratorTemplate,
    turnEnd: number | null,
  ): Promise<FileExamples> {
    const { data, seed, evaluation } = config;
    const setAside = { count: evaluation.problems, seed: evaluation.seed };
    const set = await loadDataSet(data, { requireSolution: true }, setAside);
    return new FileExamples(data, seed, set, tokenizer, template, turnEnd);
  }

  private constructor(
    private readonly config: NonNullable<SftConfig["data"]>,
    seed: number,
    private readonly set: {
      readonly train: readonly DataRecord[];
      readonly heldOut: readonly DataRecord[];
    },
    private readonly tokenizer: Tokenizer,
    private readonly template: GeneratorTemplate,
    private readonly turnEnd: number | null,
  ) {
    this.#order = recordOrder(set.train.length, seed, config.shuffle);
  }

  get epochs(): number {
    return this.position / this.set.train.length;
  }

  draw(_step: number, count: number): SupervisedSample[] {
    const drawn: SupervisedSample[] = [];
    const { train } = this.set;
    for (let passedOver = 0; drawn.length < count; this.position++) {
      const example = this.#example(train[this.#order.indexAt(this.position)]);
      if (example) drawn.push(example);
      else if (++passedOver === train.length) throw this.#nothingFits();
    }
    return drawn;
  }

  heldOut(seed: number, count: number): SupervisedSample[] {
    const { heldOut } = this.set;
    const order = recordOrder(heldOut.length, seed, heldOut.length > count);
    return this.#fitting(heldOut.map((_, place) => heldOut[order.indexAt(place)]), count);
  }

  some(count: number): SupervisedSample[] {
    return this.#fitting(this.set.train, count);
  }

  [Symbol.dispose](): void {}

  #fitting(records: Iterable<DataRecord>, count: number): SupervisedSample[] {
    const examples: SupervisedSample[] = [];
    for (const record of records) {
      if (examples.length === count) break;
      const example = this.#example(record);
      if (example) examples.push(example);
    }
    if (examples.length === 0) throw this.#nothingFits();
    return examples;
  }

  /** Null when it is longer than the configuration allows. */
  #example(record: DataRecord): SupervisedSample | null {
    const { maximum_prompt_tokens, maximum_response_tokens } = this.config;
    const prompt = this.template.render({ question: record.question });
    const end = this.turnEnd;
    const example = encodeExample(this.tokenizer, prompt, this.#response(record), { end });
    return example.prompt.length <= maximum_prompt_tokens &&
        example.response.length <= maximum_response_tokens
      ? example
      : null;
  }

  #response({ solution, solutionSteps, answer }: DataRecord): string {
    if (this.config.response === "steps" && solutionSteps) {
      return renderSolutionLines({ steps: solutionSteps, answer });
    }
    return solution ?? "";
  }

  #nothingFits(): UserError {
    const { maximum_prompt_tokens, maximum_response_tokens } = this.config;
    return new UserError(
      `data: no example has a prompt of at most ${maximum_prompt_tokens} tokens and a response of at ` +
        `most ${maximum_response_tokens}; raise data.maximum_prompt_tokens or ` +
        `data.maximum_response_tokens.`,
    );
  }
}
