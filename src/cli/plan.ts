/** `deno task plan`: what a run would take on GPUs that need not be there. */

import type { Command } from "commander";
import { Gpu } from "../gpu/gpu.ts";
import type { TangoConfig } from "../run/config/config_schema.ts";
import { type ConfigOverrides, loadTangoConfig } from "../run/config/load_config.ts";
import {
  formatComparison,
  formatPredictions,
  formatRankMemory,
} from "../run/plan/format_prediction.ts";
import { type GpuDescription, loadGpuDescription } from "../run/plan/gpu_description.ts";
import { type MeasuredRun, readMeasuredRun } from "../run/plan/measured_run.ts";
import { mostRehearsedRanks, predictMemory } from "../run/plan/planned_memory.ts";
import { planRun } from "../run/plan/planned_policies.ts";
import type { PlannedRun } from "../run/plan/planned_run.ts";
import { predictPlacements } from "../run/plan/predict_placements.ts";
import { withStandIns } from "../run/plan/stand_ins.ts";
import { RunFolder } from "../run/store/run_folder.ts";
import { UserError } from "../base/user_error.ts";
import { addExamples } from "./examples.ts";
import {
  configOption,
  DEFAULT_CONFIG,
  expectBeside,
  parseCount,
  setOption,
} from "./run_options.ts";

interface PlanOptions extends Pick<ConfigOverrides, "set"> {
  readonly config: string;
  readonly run?: string;
  readonly ranks: number;
  readonly gpu: string;
  readonly problemTokens?: number;
  readonly judgmentTokens?: number;
  readonly solutionTokens?: number;
  readonly critiqueTokens?: number;
  readonly solutionSteps?: number;
  readonly memory?: boolean;
  readonly json?: boolean;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("plan")
    .description(
      "Predicts what a run takes on some GPUs: time, memory, waiting, bytes exchanged; with both policies on " +
        "every rank, and with some ranks for each. Nothing is computed; see docs/scaling.md for how.",
    )
    .addOption(configOption(DEFAULT_CONFIG))
    .addOption(setOption())
    .option("--run <folder>", "take configuration and lengths from this run, and compare with it")
    .option("--ranks <number>", "GPUs", parseCount, 1)
    .requiredOption(
      "--gpu <name>",
      "h100, rtx4090, 7900xtx, m3, or a file like those in configs/gpus",
    )
    .option("--problem-tokens <number>", "a problem as the generator is asked it", parseCount)
    .option(
      "--judgment-tokens <number>",
      "what the verifier is asked, but for the solution",
      parseCount,
    )
    .option("--solution-tokens <number>", "mean; by default half of the longest", parseCount)
    .option("--critique-tokens <number>", "mean; by default half of the longest", parseCount)
    .option(
      "--solution-steps <number>",
      "mean; by default as many as an embedded task's problems need, else rewards.minimum_steps",
      parseCount,
    )
    .option("--memory", "say what takes each rank's memory (with --json that is always said)")
    .option("--json", "print the prediction as JSON")
    .action(plan);
  addExamples(command, {
    "deno task plan --gpu rtx4090 --ranks 2": "two GPUs of a desktop",
    "deno task plan --gpu h100 --config configs/qwen2.5-1.5b.yaml --set generator.model=Qwen2.5-1.5B --problem-tokens 250 --judgment-tokens 500":
      "a run of which nothing is fetched yet",
    "deno task plan --gpu mine.yaml --run runs/chains-001": "how far off the prediction is",
  });
}

async function plan(options: PlanOptions, command: Command): Promise<void> {
  expectBeside(command, "--judgment-tokens", "--problem-tokens");
  const gpu = loadGpuDescription(options.gpu);
  const folder = options.run === undefined ? null : RunFolder.open(options.run);
  const measured = folder && readMeasuredRun(folder);
  const isConfigNamed = command.getOptionValueSource("config") === "cli";
  const file = folder && !isConfigNamed ? folder.configuration : options.config;
  const config = loadTangoConfig(file, { set: options.set });
  if (config.precision !== "f32") {
    throw new UserError(
      `precision is ${config.precision}, and no GPU's rates on matrix units are known: take --set precision=f32`,
    );
  }
  const ofVerifier = options.judgmentTokens ?? options.critiqueTokens;
  if (config.verifier === null && ofVerifier !== undefined) {
    throw new UserError(
      `--judgment-tokens and --critique-tokens are of a verifier, and ${file} has none: leave them out.`,
    );
  }
  const said = { problem: options.problemTokens, judgment: options.judgmentTokens };
  await withStandIns(config, said, (config) => predictFor(gpu, config, options, measured));
}

async function predictFor(
  gpu: GpuDescription,
  config: TangoConfig,
  { ranks, solutionTokens, critiqueTokens, solutionSteps, memory, json }: PlanOptions,
  measured: MeasuredRun | null,
): Promise<void> {
  const rehearsal = Gpu.rehearsalOf(gpu.info, gpu.limits, { cacheDtype: config.cache_dtype });
  const run = await planRun(rehearsal, config, {
    solution: solutionTokens ?? measured?.means.solution,
    critique: critiqueTokens ?? measured?.means.critique,
    steps: solutionSteps ?? measured?.means.steps,
  });
  const plans = [];
  for (const prediction of predictPlacements(gpu, run, ranks)) {
    plans.push({
      prediction,
      memory: await predictMemory(rehearsal, config, prediction.placement),
    });
  }
  if (json) {
    console.log(JSON.stringify({ gpu, ranks, lengths: run.lengths, plans }, null, 2));
    return;
  }
  console.log(`${describeRun(gpu, run, ranks)}\n\n${formatPredictions(plans, gpu.memoryBytes)}`);
  if (memory) console.log(plans.map(formatRankMemory).join(""));
  if (measured) console.log(`\n${formatComparison(plans[0].prediction, measured)}`);
}

function describeRun(
  gpu: GpuDescription,
  { config: { rollout }, lengths, heldOut }: PlannedRun,
  ranks: number,
): string {
  const { problem, judgment, solution, critique } = lengths;
  const tokens = (value: number) => `${Math.round(value)}`;
  return [
    `${ranks} × ${gpu.name}`,
    `Tokens: problems ${problem}, solutions ${
      tokens(solution.mean)
    } (at most ${solution.maximum}), ` +
    `judged with ${judgment} more, critiques ${
      tokens(critique.mean)
    } (at most ${critique.maximum}); ` +
    `${heldOut} held-out problems.`,
    gpu.isMeasured
      ? "Rates of the kernels as measured on it."
      : "Rates of the kernels are assumed shares of published peaks, not measured on it.",
    ...(ranks > mostRehearsedRanks
      ? [`Memory is that of ${mostRehearsedRanks} ranks, which is not much more.`]
      : []),
    ...(ranks > rollout.batch_size
      ? [
        `A step has ${rollout.batch_size} problems: so many of the ranks have one to solve and to train on.`,
      ]
      : []),
  ].join("\n");
}
