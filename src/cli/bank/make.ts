import { dirname } from "node:path";
import type { Gpu } from "../../gpu/gpu.ts";
import { alignedTable } from "../../base/table.ts";
import { UserError } from "../../base/user_error.ts";
import { findTask } from "../../data/tasks.ts";
import { generatorTemplate } from "../../rl/prompt_template.ts";
import { requireNoBank, writeBank } from "../../run/bank/bank_file.ts";
import { checkPolicyMemory } from "../../run/memory/policy_memory.ts";
import { type BankProblems, chooseProblems } from "../../run/bank/bank_problems.ts";
import {
  type BankPolicy,
  type BankRun,
  openBankRuns,
  policiesOf,
  requireSameProblems,
} from "../../run/bank/bank_runs.ts";
import { type BankSource, sampleSource, writeSource } from "../../run/bank/make_bank.ts";
import type { TangoConfig } from "../../run/config/config_schema.ts";
import { promptLengths } from "../../run/memory/rehearsed_sampling.ts";
import { problemsName } from "../../run/problems/open_problems.ts";
import type { PromptFit } from "../../run/problems/problems.ts";
import { openFrozenPolicy } from "../../run/tango/frozen_policy.ts";
import {
  openPolicies,
  promptFitOf,
  releasePolicies,
  releasePolicy,
} from "../../run/tango/policies.ts";
import { gpuOf, withGpu } from "../with_gpu.ts";
import type { BankOptions } from "./bank.ts";

/** Problems of a bank unless it is said. */
const DEFAULT_PROBLEMS = 256;
/** Solutions of each problem unless it is said: an early generator is seldom right, a late one seldom wrong. */
const DEFAULT_SAMPLES = 4;

/** `bank make`. */
export async function make(options: BankOptions): Promise<void> {
  const { run = [], output, checkpoints = "spread", problems: count = DEFAULT_PROBLEMS } = options;
  if (run.length === 0) throw new UserError("Name the runs whose generators write, with --run.");
  if (output === undefined) throw new UserError("Name the bank's file with --output.");
  requireNoBank(output);
  Deno.mkdirSync(dirname(output), { recursive: true });
  const runs = openBankRuns(run, checkpoints, { set: settingsOf(options), gpu: options.gpu });
  requireSameProblems(runs);
  refuseSteps(options, runs[0]);
  const { config } = runs[0];
  const fits = await fitOf(runs, options);
  const chosen = await chooseProblems(runs, fits, count, config.evaluation.seed);
  using _problems = chosen.problems;
  const sources = await sampleAll(runs, chosen, options);
  if (config.data === null && options.corruptions) {
    sources.push(await writeSource(findTask(config.task.name), chosen, options.seed));
  }
  const solutions = sources.flatMap((source) => source.solutions);
  if (solutions.length === 0) {
    throw new UserError(
      "The bank would be empty: of no source are some solutions right and some wrong. Take more --problems or " +
        "--samples, or other --checkpoints.",
    );
  }
  writeBank(output, solutions);
  console.log(describe(sources));
  const leftOut = sources.filter((source) => source.solutions.length === 0);
  if (leftOut.length > 0) {
    const names = leftOut.map(({ source }) => source).join(", ");
    console.log(`\nLeft out, because all their solutions are right or all wrong: ${names}`);
  }
  const problems = new Set(solutions.map(({ problem }) => problem)).size;
  console.log(
    `\n${solutions.length} solutions of ${problems} problems of ${
      problemsName(config)
    }, half of them right: ${output}`,
  );
}

function settingsOf({ set = [], minimumSteps, maximumSteps }: BankOptions): string[] {
  return [
    ...set,
    ...(minimumSteps === undefined ? [] : [`task.minimum_steps=${minimumSteps}`]),
    ...(maximumSteps === undefined ? [] : [`task.maximum_steps=${maximumSteps}`]),
  ];
}

function refuseSteps({ minimumSteps, maximumSteps }: BankOptions, { config, path }: BankRun): void {
  if (config.data === null || (minimumSteps ?? maximumSteps) === undefined) return;
  throw new UserError(
    `--minimum-steps and --maximum-steps are of embedded tasks, and the problems of ${path} are in files.`,
  );
}

/** Tells whether a question leaves room in the models of all runs. */
async function fitOf(runs: readonly BankRun[], { gpuIndex }: BankOptions): Promise<PromptFit> {
  const fits: PromptFit[] = [];
  for (const { config } of runs) {
    await withGpu(gpuOf(config, gpuIndex), async (gpu) => {
      const policies = await openPolicies(gpu.rehearsal(), config, { frozen: true });
      fits.push(promptFitOf(policies));
      releasePolicies(policies);
    });
  }
  return (question, maximumTokens) => fits.every((fit) => fit(question, maximumTokens));
}

async function sampleAll(
  runs: readonly BankRun[],
  chosen: BankProblems,
  options: BankOptions,
): Promise<BankSource[]> {
  const { samples = DEFAULT_SAMPLES, seed, gpuIndex } = options;
  const sources: BankSource[] = [];
  const writers = policiesOf(runs, "generator");
  for (const [config, own] of Map.groupBy(writers, ({ config }) => config)) {
    await withGpu(gpuOf(config, gpuIndex), async (gpu) => {
      for (const writer of own) {
        console.error(
          `${writer.name} solves ${chosen.chosen.length} problems, ${samples} times each`,
        );
        const generator = await openWriter(gpu, writer, chosen, samples);
        try {
          sources.push(
            await sampleSource(generator, writer, chosen, {
              task: problemsName(config),
              samples,
              minimumSteps: config.rewards.minimum_steps,
              seed,
              place: writers.indexOf(writer),
            }),
          );
        } finally {
          releasePolicy(generator);
        }
      }
    });
  }
  return sources;
}

async function openWriter(
  gpu: Gpu,
  { config, checkpoint }: BankPolicy,
  { problems, chosen }: BankProblems,
  samples: number,
) {
  const open = (gpu: Gpu, config: TangoConfig) =>
    openFrozenPolicy(gpu, config, "generator", generatorTemplate, checkpoint);
  const questions = chosen.map((problem) => problems.source.question(problem));
  await checkPolicyMemory(gpu, config, {
    open,
    lengths: (generator) => promptLengths(questions, generator, null).generator,
    rollouts: [{ prompts: chosen.length, responses: samples }],
  });
  return await open(gpu, config);
}

function describe(sources: readonly BankSource[]): string {
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
  return alignedTable([
    ["source", "different", "of them right", "cut off", "in the bank"],
    ...sources.map(({ source, different, right, cutShare, solutions }) => [
      source,
      String(different),
      percent(different === 0 ? 0 : right / different),
      percent(cutShare),
      String(solutions.length),
    ]),
  ]);
}
