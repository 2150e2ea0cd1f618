/** `deno task train`: trains both policies and leaves a run folder with a report. */

import type { Command } from "commander";
import { UserError } from "../base/user_error.ts";
import type { OpenCommunicator } from "../distributed/open_communicator.ts";
import { broadcastOutcome } from "../distributed/outcomes.ts";
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
import { placementOf, withParts } from "../run/config/placement.ts";
import { ConfigHistory } from "../run/control/config_history.ts";
import { requireNotRunning } from "../run/control/endpoint/control_file.ts";
import { INTERRUPTED_EXIT_CODE } from "./interrupt.ts";
import { readJsonLines } from "../run/store/json_lines_log.ts";
import { loadTangoConfig } from "../run/config/load_config.ts";
import { problemsName } from "../run/problems/open_problems.ts";
import { formatMemoryPlans } from "../run/memory/memory_plan.ts";
import type { MetricsLine } from "../run/store/metrics_log.ts";
import { findHeadlines, methodName } from "../run/report/report.ts";
import { latestRunDirectory, nextRunDirectory, RunFolder } from "../run/store/run_folder.ts";
import { isFinished, trainWithReport } from "../run/session/training_session.ts";
import { openReward } from "../run/tango/custom_reward.ts";
import { type RunTimeline, withTimeline } from "../run/trace/run_timeline.ts";
import { describeDevice } from "../gpu/describe_device.ts";
import { describeParameters, describeParts } from "./device_line.ts";
import { addExamples } from "./examples.ts";
import { FollowedRun } from "./followed_run.ts";
import { RunEvents } from "../run/events/run_events.ts";
import { describeTangoSteps } from "./progress/tango_progress.ts";
import {
  addConfigOptions,
  type ConfigOptions,
  ranksOption,
  refuseWithResume,
  resumeOption,
} from "./run_options.ts";
import { onRanks } from "./ranks/on_ranks.ts";
import { runOnGpu } from "./ranks/run_on_gpu.ts";
import {
  addTraceOptions,
  describeTrace,
  TRACE_OPTIONS,
  type TracedRunOptions,
  traceOptions,
} from "./trace_options.ts";

interface TrainOptions extends ConfigOptions, TracedRunOptions {
  readonly resume?: boolean;
  readonly ranks?: number;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = addConfigOptions(program.command("train"), "configs/last-letter.yaml")
    .description("Trains a generator and a verifier together; leaves a run folder with a report.")
    .addOption(resumeOption())
    .addOption(ranksOption())
    .action(train);
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

async function train(options: TrainOptions, command: Command): Promise<void> {
  // What is wrong with it is said before any rank is started.
  const check = async (ranks: number) => {
    const { config } = await choose(options, command, ranks);
    placementOf(config, ranks);
  };
  await onRanks(options.ranks, check, (opened) => trainOn(opened, options, command));
}

/** Trains as one of the ranks. The first one says which run, and is the one that is heard and prints. */
async function trainOn(
  opened: OpenCommunicator,
  options: TrainOptions,
  command: Command,
): Promise<void> {
  const { communicator: ranks } = opened;
  const { config, path, changes, isDone } = await broadcastOutcome(
    ranks,
    0,
    () => choose(options, command, ranks.size),
  );
  const folder = RunFolder.at(path);
  if (isDone) {
    console.log(`The run in ${folder.path} is finished; its report is ${folder.report}.`);
    return;
  }
  using followed = ranks.rank === 0 ? new FollowedRun(describeTangoSteps, "step") : null;
  if (changes !== null) followed?.changeAtStart(changes);
  const events = followed?.events ?? new RunEvents();
  const trace = traceOptions(options, folder);
  const session = (gpu: Gpu, timeline: RunTimeline) =>
    trainWithReport(gpu, config, folder.path, {
      resume: options.resume ?? false,
      events,
      control: followed?.control,
      endpoint: followed?.endpoint,
      ranks: timeline.ranks,
      timeline,
      tuning: config.tuning,
      tell: (line) => console.log(line),
      onPlan: (plans) => console.log(`${formatMemoryPlans(plans)}\n`),
      onOpen({ parameterCounts: { generator, verifier }, step, dataReport }) {
        if (dataReport !== null) console.log(`${dataReport}\n`);
        const shared = describeParts(ranks.size, config);
        const policies = `generator of ${describeParameters(generator)}` +
          (verifier === null ? "" : `, verifier of ${describeParameters(verifier)}`);
        const place = options.resume ? `${folder.path} from step ${step}` : folder.path;
        console.log(
          [
            methodName(config),
            problemsName(config),
            policies,
            describeDevice(gpu.info),
            ...shared,
            place,
          ].join(" · "),
        );
      },
    });
  const run = (gpu: Gpu) =>
    withTimeline(gpu, { ranks, events }, trace, (timeline) => session(gpu, timeline));
  const place = { config, gpuIndex: options.gpuIndex, folder, events };
  const reachedEnd = await runOnGpu(opened, { ...place, command: "train" }, run);
  if (!reachedEnd) Deno.exitCode = followed?.stoppedExitCode ?? INTERRUPTED_EXIT_CODE;
  if (ranks.rank > 0) return;
  printResult(folder);
  if (trace !== null) console.log(describeTrace(trace));
  if (!reachedEnd) {
    console.log(`Stopped. Continue with: ./tango train --run ${folder.path} --resume`);
  }
}

/** Plain data, for the first rank tells it to the others. */
interface ChosenRun {
  readonly config: TangoConfig;
  /** Of its folder. */
  readonly path: string;
  /** What --resume changes from its first step on. */
  readonly changes: Settings | null;
  /** Whether nothing of it is left to be done. */
  readonly isDone: boolean;
}

/** Which run it is; that it can be rewarded is known before anything is loaded. */
async function choose(options: TrainOptions, command: Command, ranks: number): Promise<ChosenRun> {
  const chosen = options.resume ? reopen(options, command) : begin(options, ranks);
  if (!chosen.isDone) await openReward(chosen.config.rewards.module);
  return chosen;
}

function begin(options: TrainOptions, ranks: number): ChosenRun {
  const config = withParts(loadTangoConfig(options.config, options), ranks);
  const path = config.run_directory ?? nextRunDirectory("runs", problemsName(config));
  RunFolder.at(path).requireUnused();
  return { config, path, changes: null, isDone: false };
}

function reopen(options: TrainOptions, command: Command): ChosenRun {
  refuseWithResume(command, ["run", "set", "ranks", ...TRACE_OPTIONS], [
    ...changeableTangoKeys,
    "placement",
  ]);
  const folder = RunFolder.open(options.run ?? latestRunDirectory("runs", "train"));
  requireNotRunning(folder);
  if (isComparison(folder.path)) {
    throw new UserError(
      `${folder.path} holds a comparison. Continue it with: ./tango compare --run ${folder.path} --resume`,
    );
  }
  // Who holds what may be another matter each time: it shows in no bit.
  const [placing, others] = partition(
    options.set ?? [],
    (assignment) => /^placement\b/.test(assignment),
  );
  const config = loadTangoConfig(folder.configuration, { set: placing });
  const changes = others.length > 0 ? parseSettings(others) : null;
  if (changes !== null) {
    // What cannot be is said before anything is loaded.
    const step = (latestCheckpoint(folder.checkpoints)?.step ?? 0) + 1;
    new ConfigHistory(folder.history, config, changeTangoConfig).check(step, changes);
  }
  return { config, path: folder.path, changes, isDone: isFinished(folder, config) };
}

function partition<Item>(
  items: readonly Item[],
  isFirst: (item: Item) => boolean,
): [Item[], Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}

function printResult(folder: RunFolder): void {
  for (const { label, change } of findHeadlines(readJsonLines<MetricsLine>(folder.metrics))) {
    console.log(`${label}: ${change}`);
  }
  const checkpoint = latestCheckpoint(folder.checkpoints);
  console.log(`report: ${folder.report}, checkpoint: ${checkpoint?.path ?? "none"}`);
}
