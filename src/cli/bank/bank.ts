/** `deno task bank`: every verifier of some runs on the same frozen solutions. */

import { Argument, type Command, InvalidArgumentError } from "commander";
import { UserError } from "../../base/user_error.ts";
import type { CheckpointChoice } from "../../run/bank/bank_runs.ts";
import { addExamples } from "../examples.ts";
import {
  collect,
  gpuIndexOption,
  gpuOption,
  parseCount,
  parseWholeNumber,
  setOption,
} from "../run_options.ts";
import { judge } from "./judge.ts";
import { make } from "./make.ts";

/** What the command line says; which of it goes with which task `ONLY` says. */
export interface BankOptions {
  readonly run?: readonly string[];
  readonly checkpoints?: CheckpointChoice;
  readonly problems?: number;
  readonly minimumSteps?: number;
  readonly maximumSteps?: number;
  readonly corruptions: boolean;
  readonly bank?: string;
  readonly model?: readonly string[];
  readonly config?: string;
  readonly samples?: number;
  readonly output?: string;
  readonly set?: readonly string[];
  readonly seed: number;
  readonly gpu?: string;
  readonly gpuIndex?: number;
}

const TASKS = { make, judge } as const;

/** Options that go with one task alone, by their attribute names. */
const ONLY: Readonly<Record<keyof typeof TASKS, readonly (keyof BankOptions)[]>> = {
  make: ["problems", "minimumSteps", "maximumSteps", "corruptions"],
  judge: ["bank", "model", "config"],
};

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("bank")
    .description(
      "Makes a bank of solutions that stay as they are, by early, middle and late generators of some runs, and " +
        "measures every verifier on it.",
    )
    .addArgument(new Argument("<task>", "what is to be done").choices(Object.keys(TASKS)))
    .option("--run <folder>", "a run whose policies write or judge (repeatable)", collect)
    .option(
      "--checkpoints <steps>",
      "of each run: steps such as 20,140,290, all, or spread (the first, middle and last); make takes spread by " +
        "default, judge all. What a run begins with comes in any case. A run keeps its newest two checkpoints " +
        "unless it was trained with --set schedule.keep_checkpoints=100",
      parseCheckpoints,
    )
    .option(
      "--problems <number>",
      "make: held-out problems, and the most solutions of each source; default: 256",
      parseCount,
    )
    .option(
      "--minimum-steps <number>",
      "make: steps of an embedded task's easiest problem; default: as in the runs",
      parseCount,
    )
    .option(
      "--maximum-steps <number>",
      "make: of its hardest, such as longer ones than the runs were trained on; they may need --set " +
        "generator.max_response_length=… and --set verifier.max_response_length=…",
      parseCount,
    )
    .option("--no-corruptions", "make: without an embedded task's own mistakes")
    .option("--bank <file>", "judge: the bank")
    .option(
      "--model <folder>",
      "judge: a verifier by itself, a folder or .gguf file (repeatable)",
      collect,
    )
    .option(
      "--config <file>",
      "judge: how a --model is prompted; default: as in the run that it lies in, else configs/last-letter.yaml",
    )
    .option(
      "--samples <number>",
      "make: solutions of each problem by each generator, of which as many right as wrong are kept (default: 4); " +
        "judge: critiques of each solution (default: 1)",
      parseCount,
    )
    .option(
      "--output <path>",
      "make: the file; judge: the folder of the results, which later calls go on with, by default beside the bank",
    )
    .addOption(setOption())
    .option(
      "--seed <number>",
      "of samples and critiques; which problems make takes says evaluation.seed",
      parseWholeNumber,
      0,
    )
    .addOption(gpuOption())
    .addOption(gpuIndexOption())
    .action(bank);
  addExamples(command, {
    "deno task bank make --run runs/chains-001 --run runs/chains-002 --problems 256 --output bank.jsonl":
      "solutions of both runs' first, middle and last generators, of the warm start, and with the task's mistakes",
    "deno task bank make --run runs/chains-001 --minimum-steps 7 --maximum-steps 7 --set generator.max_response_length=128 --set verifier.max_response_length=176 --output long.jsonl":
      "of longer problems than the run was trained on",
    "deno task bank judge --bank bank.jsonl --run runs/chains-001 --run runs/chains-002 --samples 4":
      "every verifier checkpoint of both runs, 4 critiques of each solution",
    "deno task bank judge --bank bank.jsonl --model weights/chains/verifier --config configs/chains.yaml":
      "another verifier on the same bank; what was judged before stays in the tables",
  });
}

async function bank(
  task: keyof typeof TASKS,
  options: BankOptions,
  command: Command,
): Promise<void> {
  const other = task === "make" ? "judge" : "make";
  const refused = command.options.filter((option) => {
    const name = option.attributeName();
    return command.getOptionValueSource(name) === "cli" &&
      (ONLY[other] as readonly string[]).includes(name);
  }).map(({ long }) => long);
  if (refused.length > 0) {
    throw new UserError(`${refused.join(", ")} goes with bank ${other}, not with bank ${task}.`);
  }
  await TASKS[task](options);
}

function parseCheckpoints(text: string): CheckpointChoice {
  if (text === "all" || text === "spread") return text;
  if (/^\d+(,\d+)*,?$/.test(text)) return text.split(",").filter((one) => one !== "").map(Number);
  throw new InvalidArgumentError("Expected steps such as 20,140,290, or all, or spread.");
}
