import { join } from "node:path";
import { exists, writeFileAtomically } from "../../base/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { AnswerJudge } from "../../grading/answer_judge.ts";
import type { PolicyName } from "../../rl/policy.ts";
import {
  gatherCritiques,
  gatherSolutions,
  measureCritiques,
  measureSolutions,
  type Measuring,
} from "../../run/benchmarks/measure.ts";
import { type BenchmarkResult, groupAverage } from "../../run/benchmarks/results.ts";
import { type BenchmarkFacts, resultsTable } from "../../run/benchmarks/results_table.ts";
import { judging, solving } from "../../run/benchmarks/roles.ts";
import { DEFAULT_SUITE, loadSuite } from "../../run/benchmarks/suite.ts";
import { loadWanted, wantedBenchmarks } from "../../run/benchmarks/wanted.ts";
import { benchmarkGroups } from "../../run/config/suite_schema.ts";
import { digestOfModel } from "../../run/record/inputs.ts";
import { answerOnGpu } from "./answer_on_gpu.ts";
import { configOf } from "./benchmark_configs.ts";
import type { BenchmarkOptions } from "./benchmarks.ts";

/** `benchmarks run`. */
export async function runBenchmarks(options: BenchmarkOptions): Promise<void> {
  const { suite: file, model, verifier, output, k, gpuIndex } = options;
  if (output === undefined) {
    throw new UserError("Name the folder for answers and results with --output.");
  }
  if (k !== undefined && model === undefined) {
    throw new UserError("--k samples a generator's answers: name one with --model.");
  }
  const suite = loadSuite(file);
  const wanted = wantedBenchmarks(suite, options);
  const { solved, judged } = await loadWanted(suite, wanted, file === DEFAULT_SUITE ? null : file);
  const results: BenchmarkResult[] = [];
  let temperature: number | null = null;
  using judge = new AnswerJudge();
  if (model !== undefined) {
    const measuring = await measuringOf("generator", model, output, options);
    using stack = new DisposableStack();
    const gathered = solved.map((one) => {
      const gathering = gatherSolutions(measuring, one, k ?? null);
      for (const { log } of gathering.askings) stack.use(log);
      return gathering;
    });
    const askings = gathered.flatMap(({ askings }) => askings);
    await answerOnGpu(measuring.config, solving, askings, gpuIndex);
    for (const one of gathered) results.push(await measureSolutions(judge, one));
    temperature = measuring.config.rollout.temperature;
  }
  if (verifier !== undefined) {
    const measuring = await measuringOf("verifier", verifier, output, options);
    using stack = new DisposableStack();
    const gathered = judged.map((one) => {
      const gathering = gatherCritiques(measuring, one);
      for (const { log } of gathering.askings) stack.use(log);
      return gathering;
    });
    const askings = gathered.flatMap(({ askings }) => askings);
    await answerOnGpu(measuring.config, judging, askings, gpuIndex);
    results.push(...gathered.map(measureCritiques));
  }
  tell(options, output, {
    suite,
    model: model ?? null,
    verifier: verifier ?? null,
    k: k ?? null,
    temperature: k === undefined ? null : temperature,
    results,
    timeouts: judge.timeouts,
  });
}

async function measuringOf(
  policy: PolicyName,
  model: string,
  folder: string,
  options: BenchmarkOptions,
): Promise<Measuring> {
  if (!exists(model)) {
    throw new UserError(
      `--${
        policy === "generator" ? "model" : policy
      }: there is no ${model}; expected a model's folder or a .gguf file.`,
    );
  }
  const config = configOf(policy, model, options);
  const weights = await digestOfModel(model, true);
  Deno.mkdirSync(folder, { recursive: true });
  return { config, weights, folder, problems: options.problems ?? null };
}

/** Writes what was measured, in words and as JSON, and prints it. */
function tell(
  { suite: file, json }: BenchmarkOptions,
  folder: string,
  facts: BenchmarkFacts,
): void {
  const { suite, results, ...said } = facts;
  const averages = Object.fromEntries(
    benchmarkGroups.map((group) => [group, groupAverage(suite, group, results)]),
  );
  const whole = JSON.stringify({ suite: file, ...said, benchmarks: results, averages }, null, 2);
  const table = resultsTable(facts);
  writeFileAtomically(join(folder, "results.json"), `${whole}\n`);
  writeFileAtomically(join(folder, "results.md"), `${table}\n`);
  console.log(json ? whole : `${table}\n\nanswers and results: ${folder}`);
}
