/** `deno task train`: trains both policies and leaves a run folder with a report. */

import type { Command } from "commander";
import { UserError } from "../base/user_error.ts";
import { isComparison } from "../run/compare/comparison_folder.ts";
import { changeableTangoKeys, changeTangoConfig } from "../run/config/changeable.ts";
import type { TangoConfig } from "../run/config/config_schema.ts";
import { loadTangoConfig } from "../run/config/load_config.ts";
import { placementOf, withShards } from "../run/config/placement.ts";
import { problemsName } from "../run/problems/open_problems.ts";
import { findHeadlines, methodName } from "../run/report/report.ts";
import { isFinished, trainWithReport } from "../run/session/training_session.ts";
import type { RunEvent } from "../run/events/run_event.ts";
import { latestCheckpoint } from "../run/store/checkpoint.ts";
import { readJsonLines } from "../run/store/json_lines_log.ts";
import type { MetricsLine } from "../run/store/metrics_log.ts";
import { describeLearnabilityMetrics } from "../run/tango/learnability_metrics.ts";
import { openReward } from "../run/tango/custom_reward.ts";
import type { TangoRun } from "../run/tango/tango_run.ts";
import { describeParameters } from "./device_line.ts";
import { addExamples } from "./examples.ts";
import { describeTangoSteps } from "./progress/tango_progress.ts";
import { addConfigOptions, DEFAULT_CONFIG, ranksOption, resumeOption } from "./run_options.ts";
import { addTraceOptions } from "./trace_options.ts";
import { runTraining, type TrainingCommand, type TrainingOptions } from "./training_command.ts";

/** Adds the command. */
export function register(program: Command): void {
  const command = addConfigOptions(program.command("train"), DEFAULT_CONFIG)
    .description("Trains a generator and a verifier together; leaves a run folder with a report.")
    .addOption(resumeOption())
    .addOption(ranksOption())
    .action((options: TrainingOptions, command: Command) => runTraining(tango, options, command));
  addTraceOptions(command);
  addExamples(command, {
    "deno task train": "RL Tango on the embedded task, into the next free folder of runs/",
    "deno task train --seed 1 --set verifier=null": "the generator alone, with another seed",
    "deno task train --resume": "continues the newest run where it stopped",
    "deno task train --steps 20 --trace": "also leaves a timeline of rollouts, updates and so on",
    "deno task train --resume --set generator.optimizer.learning_rate=1e-5":
      "continues it with another learning rate",
  });
}

/** What the first evaluation says of what there is to learn. */
function describeStart(event: RunEvent): string | null {
  const measured = event.type === "evaluation" ? describeLearnabilityMetrics(event.metrics) : null;
  return measured && `Before training, ${measured}.`;
}

const tango: TrainingCommand<TangoConfig, TangoRun> = {
  name: "train",
  step: "step",
  describeSteps: describeTangoSteps,
  load: loadTangoConfig,
  withShards,
  runName: problemsName,
  changeableKeys: changeableTangoKeys,
  change: changeTangoConfig,
  freeKeys: ["placement"],
  requireFree: () => {},
  check: async (config, ranks) => {
    placementOf(config, ranks);
    await openReward(config.rewards.module);
  },
  isDone: (folder, config) => {
    if (!isComparison(folder.path)) return isFinished(folder, config);
    throw new UserError(
      `${folder.path} holds a comparison. Continue it with: ./tango compare --run ${folder.path} --resume`,
    );
  },
  begins: () => null,
  note: describeStart,
  session: trainWithReport,
  describe: ({ parameterCounts: { generator, verifier }, step, dataReport }, config) => ({
    dataReport,
    words: [
      methodName(config),
      problemsName(config),
      `generator of ${describeParameters(generator)}` +
      (verifier === null ? "" : `, verifier of ${describeParameters(verifier)}`),
    ],
    step,
  }),
  result: (folder) => {
    const headlines = findHeadlines(readJsonLines<MetricsLine>(folder.metrics));
    const checkpoint = latestCheckpoint(folder.checkpoints);
    return [
      ...headlines.map(({ label, change }) => `${label}: ${change}`),
      `report: ${folder.report}, checkpoint: ${checkpoint?.path ?? "none"}`,
    ];
  },
};
