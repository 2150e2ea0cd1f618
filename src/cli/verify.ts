/** `deno task verify`: what a run's verifier says of a solution. */

import type { Command } from "commander";
import { loadTangoConfig } from "../run/config/load_config.ts";
import { checkJudgingMemory } from "../run/memory/judging_memory.ts";
import { placeOfCheckpoint } from "../run/store/checkpoint.ts";
import { latestRunDirectory, RunFolder } from "../run/store/run_folder.ts";
import { StoredCheckpoint } from "../run/store/stored_checkpoint.ts";
import { type JudgedSolution, judgeSolution } from "../run/tango/judge_solution.ts";
import { addExamples } from "./examples.ts";
import { gpuIndexOption, gpuOption, parseNumber, parseWholeNumber } from "./run_options.ts";
import { type GpuChoice, gpuOf, withGpu } from "./with_gpu.ts";

interface VerifyOptions extends GpuChoice {
  readonly run?: string;
  readonly checkpoint?: number;
  readonly solution?: string;
  readonly temperature: number;
  readonly seed: number;
  readonly json?: boolean;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("verify")
    .description(
      "A run's verifier judges a solution to a problem, which its generator writes unless it is given.",
    )
    .argument("<problem>", "the problem")
    .option("--run <folder>", "the run; default: the newest")
    .option(
      "--checkpoint <step>",
      "as it was after this step; default: the newest",
      parseWholeNumber,
    )
    .option("--solution <text>", "the solution, <think><step>…</step></think><answer>…</answer>")
    .option("--temperature <number>", "of sampling; 0 takes the likeliest token", parseNumber, 0)
    .option("--seed <number>", "seed of sampling", parseWholeNumber, 0)
    .addOption(gpuOption())
    .addOption(gpuIndexOption())
    .option("--json", "print JSON lines: pieces of text as they come, and at last the judgments")
    .action(verify);
  addExamples(command, {
    'deno task verify --run runs/chains-001 "ann has 7 pens. ann\'s pal bob has 3 more. how many has bob"':
      "the generator's solution and the verifier's critique",
    'deno task verify --checkpoint 40 --solution "<think><step>cat:t</step></think><answer>\\boxed{t}</answer>" "cat"':
      "what the verifier said after step 40 of a solution of your own",
  });
}

async function verify(problem: string, options: VerifyOptions): Promise<void> {
  const folder = RunFolder.open(options.run ?? latestRunDirectory("runs", "train"));
  const config = loadTangoConfig(folder.configuration);
  const checkpoint = new StoredCheckpoint(
    placeOfCheckpoint(folder.checkpoints, options.checkpoint ?? null).path,
  );
  const { solution = null, temperature, seed, json = false } = options;
  const print = json ? printLine : new TextPrinter().print;
  if (!json && solution !== null) print("solution", solution);
  const judged = await withGpu(
    gpuOf({ ...config, gpu: options.gpu ?? config.gpu }, options.gpuIndex),
    async (gpu) => {
      const texts = { problem, solution };
      await checkJudgingMemory(gpu, config, checkpoint, texts);
      const sampling = { temperature, seed, onText: print };
      return await judgeSolution(gpu, config, checkpoint, { ...texts, ...sampling });
    },
  );
  if (json) console.log(JSON.stringify({ type: "judged", ...judged }));
  else console.log(`\n\n${describeJudgment(judged)}`);
}

function printLine(type: "solution" | "critique", text: string): void {
  console.log(JSON.stringify({ type, text }));
}

/** Prints texts as they come, each under its name. */
class TextPrinter {
  #last = "";

  readonly print = (kind: "solution" | "critique", piece: string): void => {
    const title = kind === this.#last ? "" : `${this.#last === "" ? "" : "\n\n"}# ${kind}\n`;
    this.#last = kind;
    Deno.stdout.writeSync(new TextEncoder().encode(title + piece));
  };
}

function describeJudgment({ steps, stepJudgments, verdict, step }: JudgedSolution): string {
  const said = verdict === null ? "nothing readable" : verdict ? "CORRECT" : "INCORRECT";
  const judged = stepJudgments.length === steps.length
    ? stepJudgments.map((judgment, i) => `${i + 1} ${judgment ? "✓" : "✗"}`).join(", ")
    : `${stepJudgments.length} judgments of ${steps.length} steps`;
  return `verdict after step ${step}: ${said}; steps: ${judged}`;
}
