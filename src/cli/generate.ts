/** `deno task generate`: what a saved generator answers. */

import { type Command, Option } from "commander";
import { streams } from "../random/philox.ts";
import type { LoadedModel } from "../model/weights/model_folder.ts";
import type { Tokenizer } from "../model/tokenizer/tokenizer.ts";
import { withTurnEnd } from "../model/tokenizer/stop_tokens.ts";
import { generatorTemplate, verifierTemplate } from "../rl/prompt_template.ts";
import { rollout, type RolloutResponse } from "../engine/sampling/rollout.ts";
import { Sampler } from "../engine/sampling/sampler.ts";
import { mean } from "../base/statistics.ts";
import { UserError } from "../base/user_error.ts";
import { bestFirst } from "../rl/measures/choice_metrics.ts";
import { halve, type Shrink } from "../run/memory/shrink.ts";
import { promptOf } from "../run/tango/policies.ts";
import { askedAs, type PromptedPolicy } from "./asked_as.ts";
import { addExamples } from "./examples.ts";
import { generateData, type GenerateDataOptions } from "./generate_data.ts";
import { judgeAnswers } from "./judged_answers.ts";
import {
  addModelOptions,
  memoryLimitOption,
  parseCount,
  parseNumber,
  parseWholeNumber,
  setOption,
} from "./run_options.ts";
import { type ModelChoice, withModel } from "./with_model.ts";

interface GenerateOptions extends ModelChoice {
  readonly count: number;
  readonly temperature: number;
  /** Default: as in its run. */
  readonly maxLength?: number;
  readonly seed: number;
  /** Default: as in its run. */
  readonly promptTemplate?: string;
  readonly raw?: boolean;
  readonly bestOf?: number;
  readonly verifier?: string;
  readonly critiques: number;
  /** Default: as in its run. */
  readonly critiqueLength?: number;
  /** Default: as in its run. */
  readonly verifierPrompt?: string;
}

/** The options of the model that answers, and how it is asked. */
interface Asked extends GenerateOptions {
  readonly asking: PromptedPolicy;
  readonly maxLength: number;
}

/** The same of the one that judges. */
interface AskedToJudge extends GenerateOptions {
  readonly asking: PromptedPolicy;
  readonly critiqueLength: number;
}

/** Options that a teacher's configuration says itself, by their attribute names. */
const OF_ONE_QUESTION = [
  ...["count", "temperature", "maxLength", "promptTemplate", "raw", "memoryLimit", "precision"],
  ...["bestOf", "verifier", "critiques", "critiqueLength", "verifierPrompt", "frozenDtype"],
  "cacheDtype",
];

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("generate")
    .description("Prints what a saved generator answers to a question.")
    .argument("[question]", "the question, or with --raw the whole prompt")
    .option("--model <folder>", "folder of the generator, or .gguf file")
    .addOption(
      new Option(
        "--config <file>",
        "a teacher's configuration: solves a data set for others to be fine-tuned on, and goes on where it was stopped",
      ).conflicts(["model", ...OF_ONE_QUESTION]),
    )
    .addOption(setOption())
    .option("--count <number>", "number of answers", parseCount, 1)
    .option("--temperature <number>", "of sampling; 0 takes the likeliest token", parseNumber, 1)
    .option(
      "--max-length <tokens>",
      "tokens after which an answer is cut off; default: as in the run that the model lies in, else 128",
      parseCount,
    )
    .addOption(memoryLimitOption())
    .option("--seed <number>", "seed of sampling", parseWholeNumber, 0)
    .addOption(
      new Option(
        "--prompt-template <file>",
        "how questions are put; default: as in the run that the model lies in, else configs/prompts/generator.txt",
      ).conflicts("raw"),
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
      "tokens after which a critique is cut off; default: as in the run that the verifier lies in, else 192",
      parseCount,
    )
    .option(
      "--verifier-prompt <file>",
      "how the verifier is asked; default: as in the run that it lies in, else configs/prompts/verifier.txt",
    )
    .option("--raw", "no template: the prompt is taken as it is, with its special tokens");
  addModelOptions(command).action(generate);
  addExamples(command, {
    'deno task generate --model weights/last-letter/generator "cat dog"': "one sampled answer",
    'deno task generate --model weights/last-letter/generator "cat dog" --count 4 --temperature 0.7':
      "four answers",
    'deno task generate --model weights/last-letter/generator "cat dog" --best-of 8 --verifier weights/last-letter/verifier':
      "of eight answers the one that the verifier believes in most",
    'deno task generate --model weights/last-letter/generator --raw "<bos>cat dog?"':
      "the same prompt without the template",
    "deno task generate --config configs/teachers/word-problems.yaml":
      "solutions of a data set's problems, of which those that are right are kept",
  });
}

/** With a configuration a data set, else one question. */
async function generate(
  question: string | undefined,
  options: GenerateOptions & Partial<GenerateDataOptions>,
  command: Command,
): Promise<void> {
  const { config } = options;
  if (config !== undefined) {
    if (question !== undefined) {
      throw new UserError("--config solves the problems of its data; leave the question out.");
    }
    const seed = command.getOptionValueSource("seed") === "cli" ? options.seed : undefined;
    const { set, gpu, gpuIndex } = options;
    return await generateData({ config, set, seed, gpu, gpuIndex });
  }
  if (options.set !== undefined) {
    throw new UserError("--set changes a key of a configuration: name one with --config.");
  }
  if (question === undefined || options.model === undefined) {
    throw new UserError(
      "Name a question and --model for an answer, or a teacher's configuration with --config.",
    );
  }
  await answer(question, options);
}

async function answer(question: string, options: GenerateOptions): Promise<void> {
  checkChoice(options);
  const asking = askedAs("generator", options.model, {
    // Whatever it is, with --raw none is used.
    template: options.raw ? "" : options.promptTemplate,
    length: options.maxLength,
  }, "--prompt-template");
  const asked = { ...options, asking, maxLength: asking.max_response_length };
  // Said of a template that cannot be read before a model is.
  if (!options.raw) generatorTemplate(asking.prompt_template);
  const rehearse = (loaded: LoadedModel, changed: Asked) => sample(loaded, question, changed);
  const answers: Answer[] = [];
  const fewer = options.bestOf === undefined ? fewerAnswers : fewerToChooseFrom;
  await withModel(asked, rehearse, [fewerTokens, fewer], async (loaded) => {
    if (!options.raw) warnOfUnknownCharacters(question, loaded.tokenizer);
    for (const response of await sample(loaded, question, asked)) {
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
  const asking = askedAs("verifier", verifier, {
    template: options.verifierPrompt,
    length: options.critiqueLength,
  }, "--verifier-prompt");
  const asked = {
    ...{ ...options, asking, model: verifier },
    critiqueLength: asking.max_response_length,
  };
  const template = verifierTemplate(asking.prompt_template);
  let scores: number[] = [];
  const scored = async (loaded: LoadedModel, changed: AskedToJudge) => {
    const { prompt, turnEnd } = promptOf(asking, template, loaded.tokenizer);
    const choice = { ...changed, template: prompt, turnEnd };
    return (await judgeAnswers(loaded, question, texts, choice)).map(({ quality }) => quality);
  };
  await withModel(asked, scored, [shorterCritiques], async (loaded) => {
    scores = await scored(loaded, asked);
  });
  return { scores, say: (score: number) => `P(CORRECT) ${score.toFixed(3)}` };
}

const shorterCritiques: Shrink<AskedToJudge> = halve(
  "critique-length",
  16,
  ({ critiqueLength }) => critiqueLength,
  (options, critiqueLength) => ({ ...options, critiqueLength }),
);

const fewerToChooseFrom: Shrink<Asked> = halve(
  "best-of",
  1,
  ({ bestOf = 1 }) => bestOf,
  (options, bestOf) => ({ ...options, bestOf }),
);

const fewerTokens: Shrink<Asked> = halve(
  "max-length",
  16,
  ({ maxLength }) => maxLength,
  (options, maxLength) => ({ ...options, maxLength }),
);

const fewerAnswers: Shrink<Asked> = halve(
  "count",
  1,
  ({ count }) => count,
  (options, count) => ({ ...options, count }),
);

async function sample(
  { model, tokenizer, stopTokens }: LoadedModel,
  question: string,
  options: Asked,
): Promise<RolloutResponse[]> {
  const { asking, raw } = options;
  const { prompt, turnEnd } = raw
    ? { prompt: { render: () => question }, turnEnd: null }
    : promptOf(asking, generatorTemplate(asking.prompt_template), tokenizer);
  const sequenceIds = Array.from({ length: options.bestOf ?? options.count }, (_, i) => i);
  const sampler = new Sampler(model, { slots: 64, stepsBetweenReadbacks: 16 });
  try {
    const request = { prompt: tokenizer.encode(prompt.render({ question })), sequenceIds };
    const [responses] = await rollout(sampler, [request], {
      temperature: options.temperature,
      topK: 0,
      topP: 1,
      minP: 0,
      seed: options.seed,
      stream: streams.evaluation,
      step: 0,
      stopTokens: withTurnEnd(stopTokens, turnEnd),
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
