/** `deno task eval`: how good a saved generator or verifier is. */

import { temperatureOf } from "../../run/config/loss_options.ts";
import type { Metrics } from "../../run/store/metrics_log.ts";
import { type Command, Option } from "commander";
import { formats } from "../../data/files/formats.ts";
import { taskNames } from "../../data/tasks.ts";
import type { TangoConfig } from "../../run/config/config_schema.ts";
import { dataEntry, parseColumns } from "../../run/config/data_schema.ts";
import { FileProblems } from "../../run/problems/file_problems.ts";
import {
  type EvaluatedPrompts,
  planEvaluationMemory,
} from "../../run/memory/evaluation_memory_plan.ts";
import { checkMemory } from "../../run/memory/memory_check.ts";
import { promptLengths, rangeOf } from "../../run/memory/rehearsed_sampling.ts";
import { evaluationShrinks } from "../../run/memory/tango_shrinks.ts";
import type { Problems } from "../../run/problems/problems.ts";
import { HeldOutEvaluation, type TestTimeOptions } from "../../run/tango/held_out_evaluation.ts";
import { openProblems, problemsName, requirementsOf } from "../../run/problems/open_problems.ts";
import {
  openPolicies,
  type Policies,
  promptFitOf,
  releasePolicies,
} from "../../run/tango/policies.ts";
import {
  type LabelledRecord,
  openJudged,
  ProcessEvaluation,
} from "../../run/tango/process_evaluation.ts";
import { UserError } from "../../base/user_error.ts";
import { describeDevice } from "../../gpu/describe_device.ts";
import { evaluationTable, processTable } from "./evaluation_table.ts";
import {
  type AskedEvaluation,
  configure,
  defaultConfig,
  defaultProblems,
  type EvalOptions,
} from "./eval_config.ts";
import { withModels } from "./stored_models.ts";
import { addExamples } from "../examples.ts";
import {
  gpuIndexOption,
  gpuOption,
  parseCount,
  parseNumber,
  parseWholeNumber,
  setOption,
} from "../run_options.ts";
import { gpuOf, withGpu } from "../with_gpu.ts";

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("eval")
    .description("Measures a saved generator or verifier on problems that training never sees.")
    .option("--model <folder>", "folder to be measured, or .gguf file")
    .option("--run <folder>", "instead of a model: a run, whose policy a checkpoint has")
    .option("--checkpoint <step>", "of the run; default: the newest", parseWholeNumber)
    .addOption(
      new Option("--policy <name>", "what the weights are").choices(["generator", "verifier"])
        .default("generator"),
    )
    .option(
      "--generator <folder>",
      "for a verifier: whose solutions it judges; of a run: the same checkpoint's unless named",
    )
    .option(
      "--verifier [folder]",
      "chooses among the generator's samples: bon@k and a weighted vote; of a run, its own unless named",
    )
    .option(
      "--critiques <number>",
      "of each sample by that verifier: 1 is greedy, more are sampled; default: 1",
      parseCount,
    )
    .option(
      "--rewrites <number>",
      "times that a sample is begun again, at most, where that verifier finds the first wrong step",
      parseWholeNumber,
      0,
    )
    .option(
      "--config <file>",
      `configuration in YAML; default: that of the run the model lies in, else ${defaultConfig}`,
    )
    .addOption(setOption())
    .addOption(
      new Option("--task <name>", "another task than the configuration's, at its own difficulty")
        .choices(taskNames).conflicts("data"),
    )
    .option("--data <path...>", "files or folders with problems instead of the configuration's")
    .addOption(
      new Option("--format <name>", "their format; default: told by the path or the columns")
        .choices(formats.map(({ name }) => name)),
    )
    .addOption(
      new Option(
        "--columns <key=column...>",
        "which of their columns hold what, such as question=prompt answer=final; the keys are those of data.train",
      ).conflicts("format"),
    )
    .option(
      "--problems <number>",
      `number of problems; default: ${defaultProblems}, of files all that are held out`,
      parseCount,
    )
    .option("--k <number>", "responses to each: 1 is greedy, more are sampled", parseCount, 1)
    .option(
      "--temperature <number>",
      "of sampled solutions and critiques; default: the configuration's",
      parseNumber,
    )
    .option(
      "--seed <number>",
      "seed of problems and samples; default: the configuration's",
      parseWholeNumber,
    )
    .addOption(gpuOption())
    .addOption(gpuIndexOption())
    .option("--json", "print one JSON object instead of a table")
    .action(evaluate);
  addExamples(command, {
    "deno task eval --model weights/last-letter/generator": "greedy accuracy of the warm start",
    "deno task eval --model runs/chains-001/generator --k 8": "mean@8, pass@k and maj@k",
    "deno task eval --run runs/chains-001 --verifier --k 8 --critiques 4":
      "the same, and what the run's own verifier chooses of the 8",
    "deno task eval --run runs/chains-001 --verifier --rewrites 2":
      "what is right when solutions are rewritten from the first step that the verifier flags",
    "deno task eval --run runs/chains-001 --checkpoint 40": "the generator as it was after step 40",
    "deno task eval --model runs/gsm8k-001/generator --data gsm8k.jsonl --k 8":
      "the same on a file of problems, with the run's own prompts",
    "deno task eval --model runs/mine/generator --data exam.csv --columns question=task answer=result":
      "on a file whose columns have names of their own",
    "deno task eval --policy verifier --model runs/chains-001/verifier --generator runs/chains-001/generator":
      "how well the verifier judges that generator's fresh solutions",
    "deno task eval --policy verifier --model runs/gsm8k-001/verifier --data ProcessBench/gsm8k.json":
      "whether the verifier finds the first wrong step of written solutions",
  });
}

async function evaluate(asked: AskedEvaluation): Promise<void> {
  const judged = await openJudged(entries(asked));
  if (judged !== null) requireVerifier(asked);
  await withModels(asked, judged !== null, (options) => evaluateModels(asked, options, judged));
}

async function evaluateModels(
  asked: AskedEvaluation,
  options: EvalOptions,
  judged: readonly LabelledRecord[] | null,
): Promise<void> {
  const config = configure(options, judged !== null);
  const choice = gpuOf(config, options.gpuIndex);
  const testTime = options.verifier === undefined
    ? null
    : { critiques: options.critiques ?? 1, rewrites: options.rewrites ?? 0 };
  const { metrics, problems, passedOver, device } = await withGpu(choice, async (gpu) => {
    await checkMemory(gpu, {
      config,
      limit: config.memory_limit_gb,
      plan: (changed) =>
        planEvaluationMemory(
          gpu,
          changed,
          (policies) => promptsOf(changed, policies, judged, options),
        ),
      shrinks: evaluationShrinks,
    });
    const policies = await openPolicies(gpu, config, { frozen: true });
    try {
      const measured = judged === null
        ? await measure(config, policies, options, testTime)
        : await judge(config, policies, judged);
      return { ...measured, device: describeDevice(gpu.info) };
    } finally {
      releasePolicies(policies);
    }
  });
  const { samples, seed } = config.evaluation;
  const { temperature } = config.rollout;
  const critiqueTemperature = temperatureOf(config, "verifier");
  // Folders that a checkpoint was written to for the moment say nothing.
  const { policy, data, generator } = asked;
  const model = asked.model ??
    `${asked.run}${asked.checkpoint === undefined ? "" : `@${asked.checkpoint}`}`;
  const on = data?.join(", ") ?? problemsName(config);
  if (options.json) {
    const counts = { problems, passed_over: passedOver, k: samples };
    const chooser = asked.verifier === true ? `${model}'s own` : asked.verifier;
    const judging = testTime === null ? {} : { verifier: chooser, ...testTime };
    const facts = {
      model,
      policy,
      generator,
      ...judging,
      on,
      ...counts,
      temperature,
      critique_temperature: config.verifier === null ? undefined : critiqueTemperature,
      seed,
      device,
    };
    console.log(JSON.stringify({ ...facts, metrics }, null, 2));
    return;
  }
  const facts = {
    title: `${policy} ${model} on ${on}`,
    policy,
    problems,
    passedOver,
    samples,
    temperature,
    critiqueTemperature,
    testTime,
    metrics,
  };
  console.log(judged === null ? evaluationTable(facts) : processTable(facts));
}

function entries({ data = [], format, columns }: Pick<EvalOptions, "data" | "format" | "columns">) {
  if (format !== undefined && data.length === 0) {
    throw new UserError("--format says how files are read: name some with --data.");
  }
  if (columns === undefined) return data.map((path) => dataEntry(path, format ?? null));
  if (data.length === 0) {
    throw new UserError("--columns says how files are read: name some with --data.");
  }
  const named = parseColumns(columns);
  return data.map((path) => dataEntry(path, null, named));
}

function requireVerifier(
  { policy, generator, k }: Pick<EvalOptions, "policy" | "generator" | "k">,
): void {
  if (policy === "generator") {
    throw new UserError(
      "These files hold solutions to be judged: they measure a verifier. Add --policy verifier.",
    );
  }
  if (generator !== undefined) {
    throw new UserError(
      "--generator is not used here: the solutions to be judged are in the files.",
    );
  }
  if (k > 1) {
    throw new UserError("--k is not used here: solutions from files are judged once, greedily.");
  }
}

/** What was measured on how many problems, and how many were too long for the models. */
interface EvaluationResult {
  readonly metrics: Metrics;
  readonly problems: number;
  readonly passedOver: number;
}

async function problemsOf(
  config: TangoConfig,
  policies: Policies,
  options: EvalOptions,
): Promise<Problems> {
  const files = entries(options);
  const fit = promptFitOf(policies);
  return files.length > 0
    ? await FileProblems.forEvaluation(files, config.evaluation, fit)
    : await openProblems(config, fit, requirementsOf(config));
}

/** The prompts that will be put to the policies. */
async function promptsOf(
  config: TangoConfig,
  policies: Policies,
  judged: readonly LabelledRecord[] | null,
  options: EvalOptions,
): Promise<EvaluatedPrompts> {
  const { generator, verifier } = policies;
  if (judged !== null && verifier !== null) {
    const { count, promptTokens } = new ProcessEvaluation(config, verifier, judged);
    return { count, generator: null, verifier: rangeOf(promptTokens) };
  }
  using problems = await problemsOf(config, policies, options);
  const questions = problems.heldOut("test").map((one) => problems.source.question(one));
  const lengths = { count: questions.length, ...promptLengths(questions, generator, verifier) };
  if (options.verifier === undefined) return lengths;
  const { critiques = 1, rewrites = 0 } = options;
  return { ...lengths, critiques, rewrites: rewrites > 0 };
}

async function measure(
  config: TangoConfig,
  policies: Policies,
  options: EvalOptions,
  testTime: TestTimeOptions | null,
): Promise<EvaluationResult> {
  const { generator, verifier } = policies;
  using problems = await problemsOf(config, policies, options);
  const heldOut = new HeldOutEvaluation(config, problems);
  const { metrics } = verifier && testTime
    ? await heldOut.measureTestTime(generator, verifier, testTime, 0)
    : verifier
    ? await heldOut.measureVerifier(policies, 0)
    : await heldOut.measureGenerator(generator, 0);
  return { metrics, problems: heldOut.count, passedOver: problems.passedOver };
}

async function judge(
  config: TangoConfig,
  { verifier }: Policies,
  records: readonly LabelledRecord[],
): Promise<EvaluationResult> {
  if (!verifier) throw new Error("no verifier was opened");
  const evaluation = new ProcessEvaluation(config, verifier, records);
  const { count: problems, passedOver } = evaluation;
  return { metrics: await evaluation.measure(), problems, passedOver };
}
