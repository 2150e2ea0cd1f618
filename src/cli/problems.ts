/** `deno task problems`: writes the problems that come with no file. */

import { join } from "node:path";
import { type Command, Option } from "commander";
import { UserError } from "../base/user_error.ts";
import { LARGEST_COUNT } from "../data/word_problems/grammar.ts";
import { writeWordProblems } from "../data/word_problems/write_word_problems.ts";
import { writeChains } from "../data/write_chains.ts";
import { addExamples } from "./examples.ts";
import { parseCount, parseWholeNumber } from "./run_options.ts";

interface ProblemsOptions {
  readonly task: "word-problems" | "chains";
  readonly train?: number;
  readonly seed: number;
  readonly folder?: string;
  readonly largest?: number;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("problems")
    .description(
      "Writes problems with worked solutions, those held out, and a tokenizer made from them: word problems in " +
        "hundreds of wordings, or chains of counts in one. The same numbers give the same files.",
    )
    .addOption(
      new Option("--task <name>", "which problems").choices(["word-problems", "chains"])
        .default("word-problems"),
    )
    .addOption(
      new Option(
        "--train <number>",
        "problems to train on; 16384 word problems, 32768 chains by default",
      ).argParser(parseCount),
    )
    .addOption(
      new Option("--seed <number>", "seed of everything random").argParser(parseWholeNumber)
        .default(0),
    )
    .addOption(
      new Option(
        "--largest <number>",
        `of word problems: the most that there is of anything, ${LARGEST_COUNT} by default; with small numbers what is hard is to understand the words`,
      ).argParser(parseCount),
    )
    .option("--folder <folder>", "where they go, over what is there; data/ and the task's name")
    .action(({ task, folder = join("data", task), largest, ...order }: ProblemsOptions) => {
      if (task === "chains") {
        if (largest !== undefined) {
          throw new UserError("--largest is for word problems: in chains nobody has more than 20");
        }
        const { train = 32768, seed } = order;
        for (const { file, problems } of writeChains({ folder, train, seed })) {
          console.log(`${join(folder, file)}: ${problems} problems`);
        }
        return;
      }
      const { train = 16384, seed } = order;
      const asked = { folder, train, seed, largest: largest ?? LARGEST_COUNT };
      for (const { file, problems, wordings, exhausted } of writeWordProblems(asked)) {
        const few = exhausted === 0
          ? ""
          : `; ${exhausted} of these have no more with so small numbers`;
        console.log(`${join(folder, file)}: ${problems} problems, from ${wordings} wordings${few}`);
      }
    });
  addExamples(command, {
    "deno task problems --largest 20": "what configs/word-problems.yaml trains on",
    "deno task problems --task chains": "what configs/chains-text.yaml trains on",
  });
}
