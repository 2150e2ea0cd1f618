/** `deno task train`: trains both policies and leaves a run folder with a report. */

import type { Command } from "commander";
import { UserError } from "../base/user_error.ts";
import type { Gpu } from "../gpu/gpu.ts";
import { latestCheckpoint } from "../run/store/checkpoint.ts";
import { isComparison } from "../run/compare/comparison_session.ts";
import {
  changeableTangoKeys,
  changeTangoConfig,
  parseSettings,
  type Settings,
} from "../run/config/changeable.ts";
import type { TangoConfig } from "../run/config/config_schema.ts";
import { ConfigHistory } from "../run/control/config_history.ts";
import { INTERRUPTED_EXIT_CODE } from "./interrupt.ts";
import { readJsonLines } from "../run/store/json_lines_log.ts";
import { loadTangoConfig } from "../run/config/load_config.ts";
import { problemsName } from "../run/problems/open_problems.ts";
import { formatMemoryPlan } from "../run/memory/memory_plan.ts";
import type { MetricsLine } from "../run/store/metrics_log.ts";
import { findHeadlines, methodName } from "../run/report/report.ts";
import { latestRunDirectory, nextRunDirectory, RunFolder } from "../run/store/run_folder.ts";
import { isFinished, trainWithReport } from "../run/session/training_session.ts";
import { describeDevice, describeParameters } from "./device_line.ts";
import { addExamples } from "./examples.ts";
import { FollowedRun } from "./followed_run.ts";
import { describeTangoSteps } from "./progress/tango_progress.ts";
import {
  addConfigOptions,
  type ConfigOptions,
  refuseWithResume,
  resumeOption,
} from "./run_options.ts";
import { withResumeHint } from "./resume_hint.ts";
import { withGpu } from "./with_gpu.ts";

interface TrainOptions extends ConfigOptions {
  readonly resume?: boolean;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = addConfigOptions(program.command("train"), "configs/last-letter.yaml")
    .description("Trains a generator and a verifier together; leaves a run folder with a report.")
    .addOption(resumeOption())
    .action(train);
  addExamples(command, {
    "deno task train": "RL Tango on the embedded task, into the next free folder of runs/",
    "deno task train --seed 1 --set verifier=null": "the generator alone, with another seed",
    "deno task train --resume": "continues the newest run where it stopped",
    "deno task train --resume --set generator.optimizer.learning_rate=1e-5":
      "continues it with another learning rate",
  });
}

async function train(options: TrainOptions, command: Command): Promise<void> {
  const { config, folder, changes } = options.resume ? reopen(options, command) : begin(options);
  if (options.resume && isFinished(folder, config)) {
    console.log(`The run in ${folder.path} is finished; its report is ${folder.report}.`);
    return;
  }
  using followed = new FollowedRun(describeTangoSteps, "step");
  if (changes !== null) followed.changeAtStart(changes);
  const run = (gpu: Gpu) =>
    trainWithReport(gpu, config, folder.path, {
      resume: options.resume ?? false,
      events: followed.events,
      control: followed.control,
      onPlan: (plan) => console.log(`${formatMemoryPlan(plan)}\n`),
      onOpen({ parameterCounts: { generator, verifier }, globalSteps, dataReport }) {
        if (dataReport !== null) console.log(`${dataReport}\n`);
        const policies = `generator of ${describeParameters(generator)}` +
          (verifier === null ? "" : `, verifier of ${describeParameters(verifier)}`);
        const place = options.resume ? `${folder.path} from step ${globalSteps}` : folder.path;
        console.log(
          [methodName(config), problemsName(config), policies, describeDevice(gpu.info), place]
            .join(
              " · ",
            ),
        );
      },
    });
  const choice = { gpu: config.gpu, gpuIndex: options.gpuIndex };
  const reachedEnd = await withResumeHint("train", folder, () => withGpu(choice, run));
  printResult(folder);
  if (!reachedEnd) {
    console.log(`Stopped. Continue with: ./tango train --run ${folder.path} --resume`);
    Deno.exitCode = INTERRUPTED_EXIT_CODE;
  }
}

interface PlacedRun {
  readonly config: TangoConfig;
  readonly folder: RunFolder;
  /** What --resume changes from its first step on. */
  readonly changes: Settings | null;
}

function begin(options: TrainOptions): PlacedRun {
  const config = loadTangoConfig(options.config, options);
  const path = config.run_directory ?? nextRunDirectory("runs", problemsName(config));
  return { config, folder: RunFolder.at(path), changes: null };
}

function reopen(options: TrainOptions, command: Command): PlacedRun {
  refuseWithResume(command, ["run", "set"], changeableTangoKeys);
  const folder = RunFolder.open(options.run ?? latestRunDirectory("runs", "train"));
  if (isComparison(folder.path)) {
    throw new UserError(
      `${folder.path} holds a comparison. Continue it with: ./tango compare --run ${folder.path} --resume`,
    );
  }
  const config = loadTangoConfig(folder.configuration);
  const changes = options.set ? parseSettings(options.set) : null;
  if (changes !== null) {
    // What cannot be is said before anything is loaded.
    const step = (latestCheckpoint(folder.checkpoints)?.step ?? 0) + 1;
    new ConfigHistory(folder.history, config, changeTangoConfig).check(step, changes);
  }
  return { config, folder, changes };
}

function printResult(folder: RunFolder): void {
  for (const { label, change } of findHeadlines(readJsonLines<MetricsLine>(folder.metrics))) {
    console.log(`${label}: ${change}`);
  }
  const checkpoint = latestCheckpoint(folder.checkpoints);
  console.log(`report: ${folder.report}, checkpoint: ${checkpoint?.path ?? "none"}`);
}
