/** `deno task generate`: what a saved generator answers. */

import { type Command, Option } from "commander";
import { streams } from "../random/philox.ts";
import type { LoadedModel } from "../model/weights/model_folder.ts";
import type { Tokenizer } from "../model/tokenizer/tokenizer.ts";
import { generatorTemplate, verifierTemplate } from "../rl/prompt_template.ts";
import { rollout, type RolloutResponse } from "../engine/sampling/rollout.ts";
import { Sampler } from "../engine/sampling/sampler.ts";
import { mean } from "../base/statistics.ts";
import { UserError } from "../base/user_error.ts";
import { bestFirst } from "../rl/measures/choice_metrics.ts";
import { halve, type Shrink } from "../run/memory/shrink.ts";
import { addExamples } from "./examples.ts";
import { judgeAnswers } from "./judged_answers.ts";
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
  readonly bestOf?: number;
  readonly verifier?: string;
  readonly critiques: number;
  readonly critiqueLength: number;
  readonly verifierPrompt: string;
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
    .option(
      "--best-of <number>",
      "answers that are sampled, of which the --count best are printed, the best first",
      parseCount,
    )
    .option(
      "--verifier <folder>",
      "says with --best-of which are best; without one it is the highest log-prob per token",
    )
    .option(
      "--critiques <number>",
      "of each answer by the verifier: 1 is greedy, more are sampled",
      parseCount,
      1,
    )
    .option(
      "--critique-length <tokens>",
      "tokens after which a critique is cut off",
      parseCount,
      192,
    )
    .option(
      "--verifier-prompt <file>",
      "how the verifier is asked",
      "configs/prompts/verifier.txt",
    )
    .option("--raw", "no template: the prompt is taken as it is, with its special tokens");
  addModelOptions(command).action(answer);
  addExamples(command, {
    'deno task generate --model weights/last-letter/generator "cat dog"': "one sampled answer",
    'deno task generate --model weights/last-letter/generator "cat dog" --count 4 --temperature 0.7':
      "four answers",
    'deno task generate --model weights/last-letter/generator "cat dog" --best-of 8 --verifier weights/last-letter/verifier':
      "of eight answers the one that the verifier believes in most",
    'deno task generate --model weights/last-letter/generator --raw "<bos>cat dog?"':
      "the same prompt without the template",
  });
}

async function answer(question: string, options: GenerateOptions): Promise<void> {
  checkChoice(options);
  const prompt = options.raw
    ? question
    : generatorTemplate(options.promptTemplate).render({ question });
  const rehearse = (loaded: LoadedModel, changed: GenerateOptions) =>
    sample(loaded, prompt, changed);
  const answers: Answer[] = [];
  const fewer = options.bestOf === undefined ? fewerAnswers : fewerToChooseFrom;
  await withModel(options, rehearse, [fewerTokens, fewer], async (loaded) => {
    if (!options.raw) warnOfUnknownCharacters(question, loaded.tokenizer);
    for (const response of await sample(loaded, prompt, options)) {
      answers.push({ ...response, text: loaded.tokenizer.decode(response.tokens) });
    }
  });
  if (options.bestOf === undefined) {
    answers.forEach((one, i) => print(one, i, options.count));
    return;
  }
  const { scores, say } = await judge(question, answers, options);
  bestFirst(scores).slice(0, options.count).forEach((place, i) => {
    console.log(`${i > 0 ? "\n" : ""}# ${i + 1} of ${answers.length}: ${say(scores[place])}`);
    print(answers[place], i, 1);
  });
}

/** An answer, read. */
interface Answer extends RolloutResponse {
  readonly text: string;
}

/** @throws UserError when nothing can be chosen so */
function checkChoice({ bestOf, verifier, count, critiques, raw }: GenerateOptions): void {
  if (bestOf === undefined) {
    if (verifier === undefined && critiques === 1) return;
    throw new UserError(
      "--verifier and --critiques choose among several answers: add --best-of 8.",
    );
  }
  if (bestOf < count) {
    throw new UserError(
      `--best-of is ${bestOf}; expected at least the ${count} answers of --count.`,
    );
  }
  if (verifier === undefined && critiques > 1) {
    throw new UserError("--critiques are a verifier's: name its folder with --verifier.");
  }
  if (verifier !== undefined && raw) {
    throw new UserError(
      "--raw has no question that a verifier could be asked about: leave out one of them.",
    );
  }
}

/** How good answers are, and how that is said. One of the two models is on the GPU at a time. */
async function judge(question: string, answers: readonly Answer[], options: GenerateOptions) {
  const { verifier } = options;
  if (verifier === undefined) {
    return {
      scores: answers.map(({ logProbs }) => mean(Array.from(logProbs))),
      say: (score: number) => `log-prob per token ${score.toFixed(3)}`,
    };
  }
  const texts = answers.map(({ text }) => text);
  const asked = { ...options, model: verifier };
  const template = verifierTemplate(options.verifierPrompt);
  let scores: number[] = [];
  const rehearse = (loaded: LoadedModel, changed: GenerateOptions) =>
    judgeAnswers(loaded, question, texts, { ...changed, template, turnEnd: null });
  await withModel(asked, rehearse, [shorterCritiques], async (loaded) => {
    scores = await judgeAnswers(loaded, question, texts, { ...options, template, turnEnd: null });
  });
  return { scores, say: (score: number) => `P(CORRECT) ${score.toFixed(3)}` };
}

const shorterCritiques: Shrink<GenerateOptions> = halve(
  "critique-length",
  16,
  ({ critiqueLength }) => critiqueLength,
  (options, critiqueLength) => ({ ...options, critiqueLength }),
);

const fewerToChooseFrom: Shrink<GenerateOptions> = halve(
  "best-of",
  1,
  ({ bestOf = 1 }) => bestOf,
  (options, bestOf) => ({ ...options, bestOf }),
);

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
  const sequenceIds = Array.from({ length: options.bestOf ?? options.count }, (_, i) => i);
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

function print({ text, finished, tokens }: Answer, index: number, count: number): void {
  if (count > 1) console.log(`${index > 0 ? "\n" : ""}# ${index + 1}`);
  console.log(text);
  if (!finished) console.error(`(cut off after ${tokens.length} tokens)`);
}
