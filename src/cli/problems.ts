/** `deno task problems`: writes the word problems that come with no file. */

import { join } from "node:path";
import { type Command, Option } from "commander";
import { LARGEST_COUNT } from "../data/word_problems/grammar.ts";
import { writeWordProblems } from "../data/word_problems/write_word_problems.ts";
import { addExamples } from "./examples.ts";
import { parseCount, parseWholeNumber } from "./run_options.ts";

interface ProblemsOptions {
  readonly train: number;
  readonly seed: number;
  readonly folder: string;
  readonly largest: number;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("problems")
    .description(
      "Writes word problems with worked solutions, those held out, and a tokenizer made from them. " +
        "The same numbers give the same files.",
    )
    .addOption(
      new Option("--train <number>", "problems to train on").argParser(parseCount).default(16384),
    )
    .addOption(
      new Option("--seed <number>", "seed of everything random").argParser(parseWholeNumber)
        .default(0),
    )
    .addOption(
      new Option(
        "--largest <number>",
        "the most that there is of anything: with small numbers what is hard is to understand the words",
      ).argParser(parseCount).default(LARGEST_COUNT),
    )
    .option("--folder <folder>", "where they go, over what is there", "data/word-problems")
    .action((order: ProblemsOptions) => {
      for (const { file, problems, wordings, exhausted } of writeWordProblems(order)) {
        const few = exhausted === 0
          ? ""
          : `; ${exhausted} of these have no more with so small numbers`;
        console.log(
          `${join(order.folder, file)}: ${problems} problems, from ${wordings} wordings${few}`,
        );
      }
    });
  addExamples(command, {
    "deno task problems --largest 20": "what configs/word-problems.yaml trains on",
  });
}
