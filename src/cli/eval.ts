/** `deno task eval`: how good a saved generator or verifier is. */

import { type Command, Option } from "commander";
import { taskNames } from "../data/tasks.ts";
import { UserError } from "../user_error.ts";
import type { TangoConfig } from "../run/config_schema.ts";
import { HeldOutEvaluation } from "../run/held_out_evaluation.ts";
import { loadTangoConfig } from "../run/load_config.ts";
import { openPolicies, type Policies, releasePolicies } from "../run/policies.ts";
import { Problems } from "../run/problems.ts";
import type { Metrics } from "../run/step_metrics.ts";
import { describeDevice } from "./device_line.ts";
import { evaluationTable } from "./evaluation_table.ts";
import { addExamples } from "./examples.ts";
import {
  configOption,
  gpuOption,
  parseCount,
  parseNumber,
  parseWholeNumber,
  setOption,
} from "./run_options.ts";
import { withGpu } from "./with_gpu.ts";

interface EvalOptions {
  readonly model: string;
  readonly policy: "generator" | "verifier";
  readonly generator?: string;
  readonly config: string;
  readonly set?: readonly string[];
  readonly task?: string;
  readonly problems: number;
  readonly samples: number;
  readonly temperature?: number;
  readonly seed?: number;
  readonly gpu?: string;
  readonly json?: boolean;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("eval")
    .description("Measures a saved generator or verifier on problems that training never sees.")
    .requiredOption("--model <folder>", "folder to be measured, or .gguf file")
    .addOption(
      new Option("--policy <name>", "what the weights are").choices(["generator", "verifier"])
        .default("generator"),
    )
    .option("--generator <folder>", "for a verifier: whose solutions it judges")
    .addOption(configOption("configs/last-letter.yaml"))
    .addOption(setOption())
    .addOption(
      new Option("--task <name>", "another task than the configuration's, at its own difficulty")
        .choices(taskNames),
    )
    .option("--problems <number>", "number of problems", parseCount, 256)
    .option("--samples <number>", "responses to each: 1 is greedy, more are sampled", parseCount, 1)
    .option(
      "--temperature <number>",
      "of sampled responses; default: the configuration's",
      parseNumber,
    )
    .option(
      "--seed <number>",
      "seed of problems and samples; default: the configuration's",
      parseWholeNumber,
    )
    .addOption(gpuOption())
    .option("--json", "print one JSON object instead of a table")
    .action(evaluate);
  addExamples(command, {
    "deno task eval --model weights/last-letter/generator": "greedy accuracy of the warm start",
    "deno task eval --model runs/last-letter-001/generator --samples 8": "mean@8, pass@k and maj@k",
    "deno task eval --policy verifier --model runs/last-letter-001/verifier --generator runs/last-letter-001/generator":
      "how well the verifier judges that generator's fresh solutions",
  });
}

async function evaluate(options: EvalOptions): Promise<void> {
  const config = configure(options);
  const { metrics, device } = await withGpu(config.gpu, async (gpu) => {
    const policies = await openPolicies(gpu, config, { frozen: true });
    try {
      return { metrics: await measure(config, policies), device: describeDevice(gpu.info) };
    } finally {
      releasePolicies(policies);
    }
  });
  const { problems, samples, seed } = config.evaluation;
  const { temperature } = config.rollout;
  if (options.json) {
    const { model, policy, generator } = options;
    const task = config.task;
    const facts = { model, policy, generator, task, problems, samples, temperature, seed, device };
    console.log(JSON.stringify({ ...facts, metrics }, null, 2));
    return;
  }
  console.log(evaluationTable({
    title: `${options.policy} ${options.model} on ${config.task.name}`,
    policy: options.policy,
    problems,
    samples,
    temperature,
    metrics,
  }));
}

/** The configuration's task and templates, with the models and numbers of the command line. */
function configure(options: EvalOptions): TangoConfig {
  const { model, policy, generator, task, problems, samples, temperature, seed } = options;
  if (policy === "verifier" && generator === undefined) {
    throw new UserError(
      "A verifier is measured on a generator's solutions: name its folder with --generator.",
    );
  }
  if (policy === "generator" && generator !== undefined) {
    throw new UserError("--generator goes with --policy verifier; a generator needs only --model.");
  }
  if (temperature === 0) {
    throw new UserError(
      "--temperature 0 is greedy decoding: use --samples 1 for that, or a temperature above 0.",
    );
  }
  const text = (value: string) => JSON.stringify(value);
  const overrides = [
    ...(task === undefined ? [] : [`task={name: ${task}}`]),
    ...options.set ?? [],
    `generator.model=${text(generator ?? model)}`,
    policy === "verifier" ? `verifier.model=${text(model)}` : "verifier=null",
    `evaluation.problems=${problems}`,
    `evaluation.samples=${samples}`,
    ...(seed === undefined ? [] : [`evaluation.seed=${seed}`]),
    ...(temperature === undefined ? [] : [`rollout.temperature=${temperature}`]),
  ];
  return loadTangoConfig(options.config, { set: overrides, gpu: options.gpu });
}

async function measure(config: TangoConfig, policies: Policies): Promise<Metrics> {
  const heldOut = new HeldOutEvaluation(config, new Problems(config.task, config.seed));
  const { generator, verifier } = policies;
  const { metrics } = verifier
    ? await heldOut.measureVerifier(verifier, generator, 0)
    : await heldOut.measureGenerator(generator, 0);
  return metrics;
}
