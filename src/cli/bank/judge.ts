import { settlePrecision } from "../../run/tuning/settled_precision.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { UserError } from "../../base/user_error.ts";
import { verifierTemplate } from "../../rl/prompt_template.ts";
import { parseSolution } from "../../rl/text/parse_solution.ts";
import { verifierPrompt } from "../../rl/verifier_prompt.ts";
import { type Bank, readBank } from "../../run/bank/bank_file.ts";
import { bankRows } from "../../run/bank/bank_measures.ts";
import { checkPolicyMemory } from "../../run/memory/policy_memory.ts";
import { judgedFiles, writeBankReport } from "../../run/bank/bank_report.ts";
import {
  type BankPolicy,
  type BankRun,
  openBankRuns,
  policiesOf,
  weightsHash,
} from "../../run/bank/bank_runs.ts";
import { judgeSource, judgmentSettings } from "../../run/bank/judge_bank.ts";
import { type JudgmentKey, JudgmentsFile } from "../../run/bank/judgments_file.ts";
import type { TangoConfig } from "../../run/config/config_schema.ts";
import { rangeOf } from "../../run/memory/rehearsed_sampling.ts";
import { problemsName } from "../../run/problems/open_problems.ts";
import { openFrozenPolicy } from "../../run/tango/frozen_policy.ts";
import { releasePolicy } from "../../run/tango/policies.ts";
import { configure } from "../eval/eval_config.ts";
import { gpuOf, withGpu } from "../with_gpu.ts";
import type { BankOptions } from "./bank.ts";

/** Judgments of a verifier that are wanting. */
interface Wanting {
  readonly verifier: BankPolicy;
  /** By source, all of which are asked for. */
  readonly asked: readonly JudgmentKey[];
  /** Those of them that are still to be made. */
  readonly keys: readonly JudgmentKey[];
}

/** `bank judge`. */
export async function judge(options: BankOptions): Promise<void> {
  const { bank: path, samples = 1, seed, output, gpuIndex } = options;
  if (path === undefined) {
    throw new UserError("Name the bank with --bank; ./tango bank make writes one.");
  }
  const bank = readBank(path);
  const verifiers = await verifiersOf(options, bank);
  const folder = output ?? `${path.replace(/\.jsonl$/, "")}-judged`;
  const files = judgedFiles(folder);
  Deno.mkdirSync(folder, { recursive: true });
  using judgments = new JudgmentsFile(files.judgments);
  if (judgments.damage !== null) console.error(judgments.damage);
  const wanting = verifiers.map((verifier): Wanting => {
    const key = {
      verifier: verifier.name,
      weights: weightsHash("verifier", verifier),
      bank: bank.sha256,
      settings: judgmentSettings(verifier.config, { samples, seed }),
    };
    const asked = [...bank.bySource.keys()].map((source) => ({ ...key, source }));
    return { verifier, asked, keys: asked.filter((one) => !judgments.has(one)) };
  });
  for (const [config, own] of Map.groupBy(wanting, ({ verifier }) => verifier.config)) {
    const left = own.filter(({ keys }) => keys.length > 0);
    if (left.length === 0) continue;
    await withGpu(gpuOf(config, gpuIndex), async (gpu) => {
      for (const one of left) await judgeWanting(gpu, bank, one, judgments);
    });
  }
  const done = wanting.filter(({ keys }) => keys.length === 0).length;
  if (done > 0) {
    console.error(`${done} of ${verifiers.length} verifiers had judged this bank before`);
  }
  const asked = wanting.flatMap(({ asked }) => asked);
  const rows = bankRows(bank, judgments.of(bank.sha256, { samples, seed }, asked));
  console.log(writeBankReport(folder, bank, rows));
  console.log(
    `\nrows: ${files.rows}, ${files.table}; matrix: ${files.matrix}; report: ${files.report}`,
  );
}

/** @throws UserError when none is named, or a run is of another task than the bank */
async function verifiersOf(options: BankOptions, bank: Bank): Promise<BankPolicy[]> {
  const { run = [], checkpoints, model = [], config: file, set = [], gpu, gpuIndex } = options;
  if (run.length === 0 && model.length === 0) {
    throw new UserError(
      "Name the runs whose verifiers judge with --run, or verifiers with --model.",
    );
  }
  if (run.length === 0 && checkpoints !== undefined) {
    throw new UserError("--checkpoints are of runs: name them with --run.");
  }
  if (model.length === 0 && file !== undefined) {
    throw new UserError("--config says how a --model is prompted; a --run has its own.");
  }
  const settle = (config: TangoConfig) => settlePrecision(config, gpuIndex, console.error);
  const runs: BankRun[] = [];
  for (const one of openBankRuns(run, checkpoints ?? "all", { set, gpu })) {
    runs.push({ ...one, config: await settle(one.config) });
  }
  for (const { path, config } of runs) {
    const task = problemsName(config);
    if (task === bank.task) continue;
    throw new UserError(
      `The bank ${bank.path} is of ${bank.task}, and ${path} was trained on ${task}: its verifiers have never seen ` +
        "such problems. Judge with runs of the same task.",
    );
  }
  const alone: BankPolicy[] = [];
  for (const path of model) {
    const said = { model: path, policy: "verifier", k: 1, config: file, set, gpu } as const;
    const config = await settle(configure(said, true));
    alone.push({ name: path, config, run: null, step: null, checkpoint: null });
  }
  const known = policiesOf(runs, "verifier");
  return [...known, ...alone.filter(({ name }) => known.every((one) => one.name !== name))];
}

async function judgeWanting(
  gpu: Gpu,
  bank: Bank,
  { verifier: { name, run, step, config, checkpoint }, keys }: Wanting,
  judgments: JudgmentsFile,
): Promise<void> {
  const [{ settings }] = keys;
  const open = (gpu: Gpu, config: TangoConfig) =>
    openFrozenPolicy(gpu, config, "verifier", verifierTemplate, checkpoint);
  await checkPolicyMemory(gpu, config, {
    open,
    lengths: (verifier) =>
      rangeOf(bank.solutions.map(({ problem: question, solution }) => {
        const steps = parseSolution(solution).steps.length;
        return verifierPrompt(verifier, { question, solution, steps }).prompt.length;
      })),
    rollouts: [{ prompts: bank.solutions.length, responses: settings.samples }],
  });
  const verifier = await open(gpu, config);
  try {
    for (const key of keys) {
      const count = bank.bySource.get(key.source)?.length ?? 0;
      console.error(`${name} judges ${count} solutions of ${key.source}`);
      const judged = await judgeSource(verifier, bank, key.source, settings);
      judgments.add({ step: step ?? 0, run, ...key, ...judged });
    }
  } finally {
    releasePolicy(verifier);
  }
}
