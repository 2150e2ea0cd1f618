/** `deno task generate`: what a saved generator answers. */

import { type Command, Option } from "commander";
import { streams } from "../random/philox.ts";
import type { LoadedModel } from "../model/weights/model_folder.ts";
import type { Tokenizer } from "../model/tokenizer/tokenizer.ts";
import { generatorTemplate } from "../rl/prompt_template.ts";
import { rollout, type RolloutResponse } from "../engine/sampling/rollout.ts";
import { Sampler } from "../engine/sampling/sampler.ts";
import { halve, type Shrink } from "../run/memory/shrink.ts";
import { addExamples } from "./examples.ts";
import {
  addModelOptions,
  memoryLimitOption,
  parseCount,
  parseNumber,
  parseWholeNumber,
} from "./run_options.ts";
import { type ModelChoice, withModel } from "./with_model.ts";

interface GenerateOptions extends ModelChoice {
  readonly count: number;
  readonly temperature: number;
  readonly maxLength: number;
  readonly seed: number;
  readonly promptTemplate: string;
  readonly raw?: boolean;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("generate")
    .description("Prints what a saved generator answers to a question.")
    .argument("<question>", "the question, or with --raw the whole prompt")
    .requiredOption("--model <folder>", "folder of the generator, or .gguf file")
    .option("--count <number>", "number of answers", parseCount, 1)
    .option("--temperature <number>", "of sampling; 0 takes the likeliest token", parseNumber, 1)
    .option("--max-length <tokens>", "tokens after which an answer is cut off", parseCount, 128)
    .addOption(memoryLimitOption())
    .option("--seed <number>", "seed of sampling", parseWholeNumber, 0)
    .addOption(
      new Option("--prompt-template <file>", "how questions are put")
        .default("configs/prompts/generator.txt").conflicts("raw"),
    )
    .option("--raw", "no template: the prompt is taken as it is, with its special tokens");
  addModelOptions(command).action(answer);
  addExamples(command, {
    'deno task generate --model weights/last-letter/generator "cat dog"': "one sampled answer",
    'deno task generate --model weights/last-letter/generator "cat dog" --count 4 --temperature 0.7':
      "four answers",
    'deno task generate --model weights/last-letter/generator --raw "<bos>cat dog?"':
      "the same prompt without the template",
  });
}

async function answer(question: string, options: GenerateOptions): Promise<void> {
  const prompt = options.raw
    ? question
    : generatorTemplate(options.promptTemplate).render({ question });
  const rehearse = (loaded: LoadedModel, changed: GenerateOptions) =>
    sample(loaded, prompt, changed);
  await withModel(options, rehearse, [fewerTokens, fewerAnswers], async (loaded) => {
    if (!options.raw) warnOfUnknownCharacters(question, loaded.tokenizer);
    const responses = await sample(loaded, prompt, options);
    responses.forEach((response, i) => print(response, i, loaded.tokenizer, options.count));
  });
}

const fewerTokens: Shrink<GenerateOptions> = halve(
  "max-length",
  16,
  ({ maxLength }) => maxLength,
  (options, maxLength) => ({ ...options, maxLength }),
);

const fewerAnswers: Shrink<GenerateOptions> = halve(
  "count",
  1,
  ({ count }) => count,
  (options, count) => ({ ...options, count }),
);

async function sample(
  { model, tokenizer, stopTokens }: LoadedModel,
  prompt: string,
  options: GenerateOptions,
): Promise<RolloutResponse[]> {
  const sequenceIds = Array.from({ length: options.count }, (_, i) => i);
  const sampler = new Sampler(model, { slots: 64, stepsBetweenReadbacks: 16 });
  try {
    const request = { prompt: tokenizer.encode(prompt), sequenceIds };
    const [responses] = await rollout(sampler, [request], {
      temperature: options.temperature,
      topK: 0,
      topP: 1,
      minP: 0,
      seed: options.seed,
      stream: streams.evaluation,
      step: 0,
      stopTokens,
      maximumResponse: options.maxLength,
    });
    return responses;
  } finally {
    sampler.close();
  }
}

function warnOfUnknownCharacters(question: string, tokenizer: Tokenizer): void {
  const read = tokenizer.decode(tokenizer.encode(question));
  if (read !== question) {
    console.error(
      `The tokenizer does not know every character of the question; what it reads is "${read}".`,
    );
  }
}

function print(
  response: RolloutResponse,
  index: number,
  tokenizer: Tokenizer,
  count: number,
): void {
  if (count > 1) console.log(`${index > 0 ? "\n" : ""}# ${index + 1}`);
  console.log(tokenizer.decode(response.tokens));
  if (!response.finished) console.error(`(cut off after ${response.tokens.length} tokens)`);
}
