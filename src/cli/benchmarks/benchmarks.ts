/** `deno task benchmarks`: published benchmarks, fetched and measured whole. */

import { Argument, type Command } from "commander";
import { UserError } from "../../base/user_error.ts";
import { DEFAULT_SUITE } from "../../run/benchmarks/suite.ts";
import { addExamples } from "../examples.ts";
import {
  collect,
  gpuIndexOption,
  gpuOption,
  parseCount,
  parseWholeNumber,
  setOption,
} from "../run_options.ts";
import { defaultPrompts } from "./benchmark_configs.ts";
import { pullBenchmarks } from "./pull_benchmarks.ts";
import { runBenchmarks } from "./run_benchmarks.ts";

/** What the command line says. */
export interface BenchmarkOptions {
  readonly suite: string;
  readonly only?: readonly string[];
  readonly model?: string;
  readonly verifier?: string;
  readonly output?: string;
  readonly k?: number;
  readonly problems?: number;
  readonly config?: string;
  readonly set?: readonly string[];
  readonly seed?: number;
  readonly gpu?: string;
  readonly gpuIndex?: number;
  readonly json?: boolean;
}

const TASKS = { pull: pullBenchmarks, run: runBenchmarks } as const;

/** Options of both tasks, by their attribute names. */
const SHARED: readonly string[] = ["suite", "only"];

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("benchmarks")
    .description(
      "Fetches the benchmarks of a suite from the Hugging Face Hub, and measures a generator, a verifier or both " +
        "on each whole, beside the published figures. What was answered is kept: a call that was stopped goes on " +
        "where it was.",
    )
    .addArgument(new Argument("<task>", "what is to be done").choices(Object.keys(TASKS)))
    .option("--suite <file>", "the benchmarks and the published figures", DEFAULT_SUITE)
    .option(
      "--only <name>",
      "a benchmark or group: mathematics, out-of-domain or process (repeatable); default: all",
      collect,
    )
    .option("--model <folder>", "run: the generator, a folder or .gguf file")
    .option("--verifier <folder>", "run: a verifier, for ProcessBench, a folder or .gguf file")
    .option("--output <folder>", "run: where answers and results are kept")
    .option(
      "--k <number>",
      "run: also samples so many answers to each problem, at the configuration's rollout.temperature: mean@k",
      parseCount,
    )
    .option(
      "--problems <number>",
      "run: only so many of each benchmark, the first ones: a part, of which no average is taken",
      parseCount,
    )
    .option(
      "--config <file>",
      "run: how models are prompted and how long answers may get; default: as in the run that the model lies in, " +
        `else ${defaultPrompts}`,
    )
    .addOption(setOption())
    .option(
      "--seed <number>",
      "run: of sampled answers; default: the configuration's evaluation.seed",
      parseWholeNumber,
    )
    .addOption(gpuOption())
    .addOption(gpuIndexOption())
    .option("--json", "run: print one JSON object instead of tables")
    .action(benchmarks);
  addExamples(command, {
    "deno task benchmarks pull": "all of configs/benchmarks/tango.yaml, into data/benchmarks",
    "deno task benchmarks run --model runs/mine-001/generator --verifier runs/mine-001/verifier --output runs/mine-001-benchmarks":
      "both policies of a run, greedily, prompted as there",
    "deno task benchmarks run --model models/Qwen2.5-Math-7B --only AIME24 --only AIME25 --k 32 --output qwen":
      "mean@32 beside pass@1 of two of them",
    "deno task benchmarks run --model models/Qwen2.5-Math-7B --problems 20 --output qwen":
      "a try: the first 20 problems of each; without --problems the same call goes on from there",
  });
}

async function benchmarks(
  task: keyof typeof TASKS,
  options: BenchmarkOptions,
  command: Command,
): Promise<void> {
  const refused = command.options.filter((option) => {
    const name = option.attributeName();
    return command.getOptionValueSource(name) === "cli" && !SHARED.includes(name);
  }).map(({ long }) => long);
  if (task === "pull" && refused.length > 0) {
    throw new UserError(
      `${refused.join(", ")} goes with benchmarks run, not with benchmarks pull.`,
    );
  }
  await TASKS[task](options);
}
