/** `deno task sft`: makes a policy's warm-start weights. */

import type { Command } from "commander";
import { join } from "node:path";
import { exists } from "../platform/files/atomic_file.ts";
import { UserError } from "../base/user_error.ts";
import { changeableSftKeys, changeSftConfig } from "../run/config/changeable.ts";
import { loadSftConfig } from "../run/config/load_config.ts";
import { requireShards, withSftShards } from "../run/config/placement.ts";
import type { SftConfig } from "../run/config/sft_config_schema.ts";
import { problemsName } from "../run/problems/open_problems.ts";
import { sftAccuracy } from "../run/report/sft_report.ts";
import { fineTuneWithReport } from "../run/session/sft_session.ts";
import { type SftRun, sftWeights } from "../run/sft/sft_run.ts";
import { readJsonLines } from "../run/store/json_lines_log.ts";
import { METRIC } from "../run/store/metric_names.ts";
import type { MetricsLine } from "../run/store/metrics_log.ts";
import type { RunFolder } from "../run/store/run_folder.ts";
import { describeParameters } from "./device_line.ts";
import { addExamples } from "./examples.ts";
import { describeEvaluation, describeUpdates, toldApart } from "./progress/sft_progress.ts";
import { addConfigOptions, ranksOption, resumeOption } from "./run_options.ts";
import { addTraceOptions } from "./trace_options.ts";
import { runTraining, type TrainingCommand, type TrainingOptions } from "./training_command.ts";

/** Adds the command. */
export function register(program: Command): void {
  const command = addConfigOptions(
    program.command("sft"),
    "configs/last-letter-generator-sft.yaml",
  )
    .description("Fine-tunes a policy on written solutions or critiques: its warm-start weights.")
    .addOption(resumeOption())
    .addOption(ranksOption())
    .action((options: TrainingOptions, command: Command) =>
      runTraining(fineTuning, options, command)
    );
  addTraceOptions(command);
  addExamples(command, {
    "deno task sft --set output_directory=weights/mine/generator": "a new generator",
    "deno task sft --config configs/last-letter-verifier-sft.yaml":
      "a new verifier, left in the run's folder",
    "deno task sft --resume": "continues the newest fine-tuning where it stopped",
  });
}

/** One of them is in every model's or adapter's folder. */
const MODEL_FILES = ["config.json", "adapter_config.json"];

const fineTuning: TrainingCommand<SftConfig, SftRun> = {
  name: "sft",
  step: "update",
  describeSteps: describeUpdates,
  load: loadSftConfig,
  withShards: withSftShards,
  runName: (config) => `${problemsName(config)}-${config.policy}-sft`,
  changeableKeys: changeableSftKeys,
  change: changeSftConfig,
  freeKeys: [],
  requireFree: ({ output_directory: folder }) => {
    if (folder === null || !MODEL_FILES.some((name) => exists(join(folder, name)))) return;
    throw new UserError(
      `output_directory: there is a model in ${folder} already, which this fine-tuning would write over. Take ` +
        `--set output_directory=null, which leaves the weights in the run's folder, or another folder; or remove it.`,
    );
  },
  check: ({ reduction: { shards } }, ranks) => requireShards(shards, ranks, "the model"),
  // One that is at its end writes its weights once more, which changes nothing.
  isDone: () => false,
  // Both may take a while, in which there is nothing else to see.
  begins: (config) => `Reading ${problemsName(config)} and planning the memory ...`,
  note: (event, { policy }) => describeEvaluation(event, policy),
  session: fineTuneWithReport,
  describe: (run, config) => ({
    dataReport: dataReport(run, config),
    words: [
      config.preferences === null ? "supervised fine-tuning" : "direct preference optimisation",
      problemsName(config),
      `${config.policy} of ${describeParameters(run.parameterCount)}`,
    ],
    step: run.step,
  }),
  result: (folder, config, reachedEnd) => [
    ...lastEvaluation(folder, config),
    ...(reachedEnd ? [`weights: ${sftWeights(folder, config)}, report: ${folder.report}`] : []),
  ],
};

/** About the files' rows, and about what comes before the first update. */
function dataReport({ own, examples: { report } }: SftRun, config: SftConfig): string | null {
  const { own_solutions: asked } = config;
  if (report === null || asked === null || own === null || own.isThere) return report;
  const { problems, samples, model } = asked;
  return `${report}\nBefore the first update ${model} solves ${problems} problems ${
    samples === 1 ? "once" : `${samples} times`
  }: its solutions are judged too.`;
}

function lastEvaluation(folder: RunFolder, { policy }: SftConfig): string[] {
  const last = readJsonLines<MetricsLine>(folder.metrics)
    .findLast(({ phase }) => phase === "evaluation");
  if (last === undefined) return [];
  const { name, metric } = sftAccuracy(policy);
  const accuracy = metric in last ? `${name}: ${(100 * Number(last[metric])).toFixed(1)} %, ` : "";
  const loss = Number(last[METRIC.heldOutLoss]).toFixed(4);
  const share = last[METRIC.heldOutPreferenceAccuracy];
  const pairs = toldApart(typeof share === "number" ? share : undefined);
  return [`${accuracy}held-out loss: ${loss}${pairs} after ${last.step} updates`];
}
