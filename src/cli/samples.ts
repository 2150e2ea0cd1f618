/** `deno task samples`: solutions and critiques of a run, in the terminal. */

import process from "node:process";
import { styleText } from "node:util";
import { type Command, Option } from "commander";
import { readJsonLines } from "../run/store/json_lines_log.ts";
import { latestRunDirectory, RunFolder } from "../run/store/run_folder.ts";
import {
  choosableTraits,
  chooseSamples,
  type SampleOrder,
  sampleOrders,
  type SampleTrait,
} from "../run/report/sample_choice.ts";
import type { Sample } from "../run/store/samples_log.ts";
import { addExamples } from "./examples.ts";
import { parseCount, parseWholeNumber } from "./run_options.ts";
import { sampleText } from "./sample_text.ts";

interface SamplesOptions {
  readonly where?: readonly SampleTrait[];
  readonly phase?: Sample["phase"];
  readonly from: number;
  readonly to?: number;
  readonly order: SampleOrder;
  readonly reverse?: boolean;
  readonly count: number;
  readonly text?: boolean;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("samples")
    .description(
      "Shows problems, solutions with each step coloured by the verifier's judgment, rewards and " +
        "advantages of a run.",
    )
    .argument("[run]", "the run's folder; default: the newest run")
    .addOption(
      new Option("--where <trait...>", "only samples that are all of these")
        .choices(Object.keys(choosableTraits)),
    )
    .addOption(
      new Option("--phase <name>", "only samples of this kind of step")
        .choices(["generator", "verifier", "evaluation"]),
    )
    .option("--from <step>", "first step", parseWholeNumber, 0)
    .option("--to <step>", "last step", parseWholeNumber)
    .addOption(
      new Option("--order <name>", "largest first").choices(Object.keys(sampleOrders))
        .default("newest"),
    )
    .option("--reverse", "smallest first")
    .option("--count <number>", "how many are shown", parseCount, 5)
    .option("--text", "also the texts as they were written")
    .action(samples);
  addExamples(command, {
    "deno task samples": "the newest samples of the newest run",
    "deno task samples runs/chains-001 --where correct judged-wrong":
      "right solutions that the verifier took for wrong",
    "deno task samples --where wrong judged-correct --phase generator --text":
      "wrong solutions that passed, word for word",
    "deno task samples --order most-steps": "solutions that grew",
  });
}

function samples(run: string | undefined, options: SamplesOptions): void {
  const folder = RunFolder.open(run ?? latestRunDirectory("runs", "train"));
  const { chosen, matching } = chooseSamples(readJsonLines<Sample>(folder.samples), {
    traits: options.where ?? [],
    phase: options.phase ?? null,
    firstStep: options.from,
    lastStep: options.to ?? Infinity,
    order: options.order,
    reversed: options.reverse ?? false,
    count: options.count,
  });
  for (const sample of chosen) {
    const text = sampleText(
      sample,
      (colour, piece) => styleText(colour, piece, { stream: process.stdout }),
      options.text ?? false,
    );
    console.log(`${text}\n`);
  }
  const hint = options.text || chosen.length === 0
    ? ""
    : "; --text shows what the models wrote, word for word";
  console.log(`${chosen.length} of ${matching} samples in ${folder.samples}${hint}`);
}
