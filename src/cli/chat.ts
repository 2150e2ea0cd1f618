/** `deno task chat`: a conversation with a saved model. */

import process from "node:process";
import { createInterface } from "node:readline/promises";
import { type Command, InvalidArgumentError } from "commander";
import { UserError } from "../base/user_error.ts";
import { streams } from "../random/philox.ts";
import { ChatTemplate } from "../model/tokenizer/chat_template.ts";
import type { LoadedModel } from "../model/weights/model_folder.ts";
import type { Gpu } from "../gpu/gpu.ts";
import { Conversation, type ReplyChoice } from "../engine/conversation.ts";
import { halve, type Shrink } from "../run/memory/shrink.ts";
import { describeDevice } from "../gpu/describe_device.ts";
import { describeParameters } from "./device_line.ts";
import { withChoice } from "./chat_choice.ts";
import { addExamples } from "./examples.ts";
import {
  addModelOptions,
  memoryLimitOption,
  parseCount,
  parseNumber,
  parseWholeNumber,
} from "./run_options.ts";
import { type ModelChoice, withModel } from "./with_model.ts";

interface ChatOptions extends ModelChoice {
  readonly system?: string;
  readonly temperature: number;
  readonly topP: number;
  readonly maxLength: number;
  readonly context: number;
  readonly seed: number;
  readonly bestOf?: number;
  readonly verifier?: string;
  readonly rewrites: number;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("chat")
    .description("A conversation with a model that has a chat template.")
    .argument("[message]", "say only this, print the reply, and end")
    .requiredOption("--model <path>", "Hugging Face folder or .gguf file")
    .option("--system <text>", "what the model is told first; default: as its template has it")
    .option("--temperature <number>", "of sampling; 0 takes the likeliest token", parseNumber, 0.7)
    .option("--top-p <number>", "sample only among the likeliest tokens", parseNumber, 0.95)
    .option("--max-length <tokens>", "tokens after which a reply is cut off", parseCount, 512)
    .option(
      "--context <tokens>",
      "tokens that a conversation may have, as far as the model's positions go",
      parseContext,
      8192,
    )
    .addOption(memoryLimitOption())
    .option("--seed <number>", "seed of sampling", parseWholeNumber, 0)
    .option(
      "--best-of <number>",
      "replies that are sampled each time, of which the best is said",
      parseCount,
    )
    .option(
      "--verifier <folder>",
      "says with --best-of which is best, with --rewrites what is wrong, asked as in the run that it lies in; without one the best has the highest log-prob per token",
    )
    .option(
      "--rewrites <number>",
      "times that a reply is begun again, at most, where that verifier finds the first wrong step",
      parseWholeNumber,
      0,
    );
  addModelOptions(command).action(chat);
  addExamples(command, {
    "deno task chat --model SmolLM2-135M-Instruct.Q4_1.gguf":
      "reads a line, answers; /new forgets what was said, Ctrl-D ends",
    'deno task chat --model runs/mine/generator --temperature 0 "What is the capital of France?"':
      "one question, the likeliest answer",
    "deno task chat --model runs/mine/generator --best-of 8 --verifier runs/mine/verifier":
      "of eight replies the one that the verifier believes in most",
    "deno task chat --model runs/mine/generator --verifier runs/mine/verifier --rewrites 2":
      "a reply is written again from the first step that the verifier calls wrong",
  });
}

async function chat(message: string | undefined, options: ChatOptions): Promise<void> {
  if (options.topP <= 0 || options.topP > 1) {
    throw new UserError(`--top-p is ${options.topP}; expected more than 0 and at most 1`);
  }
  checkChoice(options);
  await withModel(options, rehearse, [shorterContext], async (loaded, gpu) => {
    await withConversation(loaded, gpu, options, async (conversation) => {
      const { verifier, bestOf } = options;
      const best = bestOf === undefined ? "" : "the best of several: ";
      const measure = best + (verifier === undefined ? "log-prob per token" : "P(CORRECT)");
      if (message !== undefined) return await answer(conversation, message, measure);
      if (Deno.stdin.isTerminal()) {
        const parameters = describeParameters(loaded.model.parameterCount);
        console.log(`${options.model} · ${parameters} · ${describeDevice(gpu.info)}`);
        console.log("/new forgets what was said, Ctrl-D ends.");
      }
      await converse(conversation, measure);
    });
  });
}

/** @throws UserError when nothing can be chosen so */
function checkChoice({ bestOf, verifier, rewrites, temperature }: ChatOptions): void {
  if (rewrites > 0 && verifier === undefined) {
    throw new UserError(
      "--rewrites go by a verifier's judgments: name its folder with --verifier.",
    );
  }
  if (rewrites > 0 && temperature === 0) {
    throw new UserError(
      "--temperature 0 writes a step again as it was: leave out --rewrites, or raise it.",
    );
  }
  if (bestOf === undefined) {
    if (verifier === undefined || rewrites > 0) return;
    throw new UserError(
      "--verifier chooses among several replies, or has one rewritten: add --best-of 8 or --rewrites 2.",
    );
  }
  if (temperature === 0 && bestOf > 1) {
    throw new UserError(
      `--temperature 0 gives the same reply ${bestOf} times: leave out --best-of, or raise it.`,
    );
  }
}

const shorterContext: Shrink<ChatOptions> = halve(
  "context",
  16,
  ({ context }) => context,
  (options, context) => ({ ...options, context }),
);

async function rehearse(loaded: LoadedModel, options: ChatOptions, gpu: Gpu): Promise<void> {
  await withConversation(loaded, gpu, options, async (conversation, choice) => {
    await conversation.rehearse();
    const text = "x ".repeat(options.maxLength);
    const reply = { text, tokenTexts: [text], logProbs: new Float32Array(1) };
    await choice?.judge("", new Array(choice.count).fill(reply));
  });
}

/** A conversation for the time of `body`, and what chooses among its replies, if anything. */
async function withConversation(
  loaded: LoadedModel,
  gpu: Gpu,
  options: ChatOptions,
  body: (conversation: Conversation, choice: ReplyChoice | null) => Promise<void>,
): Promise<void> {
  const { model, system = null, temperature, topP, seed, maxLength, context } = options;
  await withChoice(gpu, options, async (choice) => {
    const conversation = new Conversation(
      loaded,
      new ChatTemplate(loaded.tokenizer, model),
      system,
      {
        sampling: { temperature, topK: 0, topP, minP: 0, seed, stream: streams.evaluation },
        ...{ choice, maximumReply: maxLength, context },
      },
    );
    try {
      await body(conversation, choice);
    } finally {
      conversation.close();
    }
  });
}

/** Less leaves no room for a question and an answer. */
function parseContext(text: string): number {
  const tokens = parseCount(text);
  if (tokens < 2) throw new InvalidArgumentError("Expected a whole number of at least 2.");
  return tokens;
}

async function converse(conversation: Conversation, measure: string): Promise<void> {
  const isTerminal = Deno.stdin.isTerminal();
  const lines = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: isTerminal,
  });
  lines.setPrompt(isTerminal ? "> " : "");
  lines.prompt();
  for await (const line of lines) {
    const text = line.trim();
    try {
      if (text === "/new") conversation.clear();
      else if (text !== "") await answer(conversation, text, measure);
    } catch (error) {
      if (!(error instanceof UserError) || !isTerminal) throw error;
      console.error(error.message);
    }
    lines.prompt();
  }
}

/** @param measure what the score of a chosen reply is */
async function answer(conversation: Conversation, message: string, measure: string): Promise<void> {
  const encoder = new TextEncoder();
  const started = performance.now();
  const { tokens, finished, score, rewritten } = await conversation.say(message, (piece) => {
    Deno.stdout.writeSync(encoder.encode(piece));
  });
  console.log();
  const seconds = (performance.now() - started) / 1000;
  if (!finished) console.error(`(cut off after ${tokens} tokens; see --max-length)`);
  if (score !== null) {
    const again = rewritten === 0
      ? ""
      : `, written again ${rewritten} ${rewritten === 1 ? "time" : "times"}`;
    console.error(`(${measure} ${score.toFixed(3)}${again})`);
  }
  if (Deno.stdout.isTerminal()) {
    console.error(`(${tokens} tokens, ${(tokens / seconds).toFixed(1)} tokens/s)`);
  }
}
