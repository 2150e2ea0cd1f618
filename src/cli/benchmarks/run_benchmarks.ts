import { settlePrecision } from "../../run/tuning/settled_precision.ts";
import { join } from "node:path";
import { exists, writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { AnswerJudge } from "../../grading/answer_judge.ts";
import type { PolicyName } from "../../rl/policy.ts";
import type { Asking } from "../../run/benchmarks/asking.ts";
import {
  gatherCritiques,
  type Gathering,
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
  const said = { ...options, output };
  // All that may be refused is, before anything is answered.
  const solver = model === undefined ? null : await measuringOf("generator", model, said);
  const critic = verifier === undefined ? null : await measuringOf("verifier", verifier, said);
  Deno.mkdirSync(output, { recursive: true });
  using logs = new DisposableStack();
  const solutions = solver && {
    config: solver.config,
    gathered: solved.map((one) => logs.use(gatherSolutions(solver, one, k ?? null))),
  };
  const critiques = critic && {
    config: critic.config,
    gathered: judged.map((one) => logs.use(gatherCritiques(critic, one))),
  };
  const results: BenchmarkResult[] = [];
  using judge = new AnswerJudge();
  if (solutions !== null) {
    await answerOnGpu(solutions.config, solving, askingsOf(solutions.gathered), gpuIndex);
    for (const one of solutions.gathered) results.push(await measureSolutions(judge, one));
  }
  if (critiques !== null) {
    await answerOnGpu(critiques.config, judging, askingsOf(critiques.gathered), gpuIndex);
    results.push(...critiques.gathered.map(measureCritiques));
  }
  tell(options, output, {
    suite,
    model: model ?? null,
    verifier: verifier ?? null,
    sampling: k === undefined || solver === null ? null : {
      ...{ k, temperature: solver.config.rollout.temperature, seed: solver.config.evaluation.seed },
    },
    results,
    timeouts: judge.timeouts,
  });
}

function askingsOf<Problem>(gathered: readonly Gathering<Problem>[]): Asking<Problem>[] {
  return gathered.flatMap(({ askings }) => askings);
}

async function measuringOf(
  policy: PolicyName,
  model: string,
  options: BenchmarkOptions & { readonly output: string },
): Promise<Measuring> {
  if (!exists(model)) {
    throw new UserError(
      `--${
        policy === "generator" ? "model" : policy
      }: there is no ${model}; expected a model's folder or a .gguf file.`,
    );
  }
  const { output: folder, problems = null } = options;
  const config = await settlePrecision(
    configOf(policy, model, options),
    options.gpuIndex,
    console.error,
  );
  return { config, weights: await digestOfModel(model, true), folder, problems };
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
