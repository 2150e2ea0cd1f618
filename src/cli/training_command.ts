/** What `train` and `sft` have in common: which run it is, on which ranks and GPU, who follows it, what is said. */

import type { Command } from "commander";
import type { OpenCommunicator } from "../distributed/open_communicator.ts";
import { broadcastOutcome } from "../distributed/outcomes.ts";
import { describeDevice } from "../gpu/describe_device.ts";
import type { Gpu } from "../gpu/gpu.ts";
import { parseSettings, type Settings } from "../run/config/changeable.ts";
import type { ConfigOverrides } from "../run/config/load_config.ts";
import { ConfigHistory } from "../run/control/config_history.ts";
import { requireNotRunning } from "../run/control/endpoint/control_file.ts";
import type { RunEvent } from "../run/events/run_event.ts";
import { RunEvents } from "../run/events/run_events.ts";
import { formatMemoryPlans } from "../run/memory/memory_plan.ts";
import { problemsName } from "../run/problems/open_problems.ts";
import type { SessionOptions } from "../run/session/run_session.ts";
import { latestCheckpoint } from "../run/store/checkpoint.ts";
import { latestRunDirectory, nextRunDirectory, RunFolder } from "../run/store/run_folder.ts";
import { type RunTimeline, withTimeline } from "../run/trace/run_timeline.ts";
import { describeParts } from "./device_line.ts";
import { FollowedRun } from "./followed_run.ts";
import { INTERRUPTED_EXIT_CODE } from "./interrupt.ts";
import type { DescribeStep } from "./progress/run_progress.ts";
import { onRanks } from "./ranks/on_ranks.ts";
import { settleOnRanks } from "./ranks/gpu_of_rank.ts";
import { type RunOnGpu, runOnGpu } from "./ranks/run_on_gpu.ts";
import { type ConfigOptions, refuseWithResume } from "./run_options.ts";
import {
  describeTrace,
  TRACE_OPTIONS,
  type TracedRunOptions,
  traceOptions,
} from "./trace_options.ts";

/** What both commands take. */
export interface TrainingOptions extends ConfigOptions, TracedRunOptions {
  readonly resume?: boolean;
  readonly ranks?: number;
}

/** What every training's configuration has, as far as the command reads it. */
type TrainingConfig =
  & RunOnGpu["config"]
  & Parameters<typeof problemsName>[0]
  & Parameters<typeof describeParts>[1]
  & {
    readonly run_directory: string | null;
    readonly tuning: SessionOptions<unknown>["tuning"];
  };

/** What a run says of itself once its models are loaded. */
export interface OpenedRun {
  /** What became of the rows of data files; null without any. */
  readonly dataReport: string | null;
  /** Method and models. */
  readonly words: readonly string[];
  /** Steps done before. */
  readonly step: number;
}

/** One of the commands. */
export interface TrainingCommand<Config extends TrainingConfig, Run> {
  readonly name: "train" | "sft";
  /** What a step is called. */
  readonly step: "step" | "update";
  readonly describeSteps: () => DescribeStep;
  /** @throws UserError when the file or a key is unsound */
  readonly load: (file: string, overrides?: ConfigOverrides) => Config;
  /** Cuts a batch into shards where there are several ranks. */
  readonly withShards: (config: Config, ranks: number) => Config;
  /** The name of a new run's folder. */
  readonly runName: (config: Config) => string;
  /** What --set may change in a run that is resumed, and how. */
  readonly changeableKeys: readonly string[];
  readonly change: (config: Config, settings: Settings) => Config;
  /** Sections that may be another matter each time, since they show in no bit. */
  readonly freeKeys: readonly string[];
  /** @throws UserError when a new run would write over what is there, its own folder apart */
  readonly requireFree: (config: Config) => void;
  /** Checks what of a configuration can be checked before any rank is started. */
  readonly check: (config: Config, ranks: number) => void | Promise<void>;
  /** Whether nothing of a run is left to be done. */
  readonly isDone: (folder: RunFolder, config: Config) => boolean;
  /** What is said before anything is loaded; null: nothing. */
  readonly begins: (config: Config) => string | null;
  /** An event as a line of its own; null for most. */
  readonly note: (event: RunEvent, config: Config) => string | null;
  readonly session: (
    gpu: Gpu,
    config: Config,
    path: string,
    options: SessionOptions<Run>,
  ) => Promise<boolean>;
  readonly describe: (run: Run, config: Config) => OpenedRun;
  /** What came of it, line by line. */
  readonly result: (folder: RunFolder, config: Config, reachedEnd: boolean) => readonly string[];
}

/** Plain data, for the first rank tells it to the others. */
interface ChosenRun<Config> {
  readonly config: Config;
  /** Of its folder. */
  readonly path: string;
  /** What --resume changes from its first step on. */
  readonly changes: Settings | null;
  /** Whether nothing of it is left to be done. */
  readonly isDone: boolean;
}

/** Runs a command, on as many ranks as are asked for. What is wrong with it is said before any of them is started. */
export async function runTraining<Config extends TrainingConfig, Run>(
  training: TrainingCommand<Config, Run>,
  options: TrainingOptions,
  command: Command,
): Promise<void> {
  const choose = async (ranks: number): Promise<ChosenRun<Config>> => {
    const chosen = options.resume
      ? reopen(training, options, command)
      : begin(training, options, ranks);
    if (!chosen.isDone) await training.check(chosen.config, ranks);
    return chosen;
  };
  await onRanks(options.ranks, async (ranks) => void await choose(ranks), async (opened) => {
    const { communicator: ranks } = opened;
    const chosen = await broadcastOutcome(ranks, 0, () => choose(ranks.size));
    // What the run's folder has, too.
    const config = await settleOnRanks(opened, chosen.config, options.gpuIndex);
    await trainOn(training, opened, options, { ...chosen, config });
  });
}

/** Trains as one of the ranks. The first one is the one that is heard and prints. */
async function trainOn<Config extends TrainingConfig, Run>(
  training: TrainingCommand<Config, Run>,
  opened: OpenCommunicator,
  options: TrainingOptions,
  { config, path, changes, isDone }: ChosenRun<Config>,
): Promise<void> {
  const { communicator: ranks } = opened;
  const folder = RunFolder.at(path);
  if (isDone) {
    console.log(`The run in ${folder.path} is finished; its report is ${folder.report}.`);
    return;
  }
  using followed = ranks.rank === 0 ? new FollowedRun(training.describeSteps, training.step) : null;
  if (changes !== null) followed?.changeAtStart(changes);
  const events = followed?.events ?? new RunEvents();
  events.listen((event) => {
    const line = training.note(event, config);
    if (line !== null) followed?.progress.note(line);
  });
  const trace = traceOptions(options, folder);
  const session = (gpu: Gpu, timeline: RunTimeline) =>
    training.session(gpu, config, folder.path, {
      resume: options.resume ?? false,
      events,
      control: followed?.control,
      endpoint: followed?.endpoint,
      ranks: timeline.ranks,
      timeline,
      tuning: config.tuning,
      tell: (line) => console.log(line),
      onPlan: (plans) => console.log(`${formatMemoryPlans(plans)}\n`),
      onOpen(run) {
        const { dataReport, words, step } = training.describe(run, config);
        if (dataReport !== null) console.log(`${dataReport}\n`);
        const place = options.resume ? `${folder.path} from ${training.step} ${step}` : folder.path;
        const shared = describeParts(ranks.size, config);
        console.log([...words, describeDevice(gpu.info), ...shared, place].join(" · "));
      },
    });
  const run = (gpu: Gpu) =>
    withTimeline(gpu, { ranks, events }, trace, (timeline) => session(gpu, timeline));
  const first = training.begins(config);
  if (first !== null) console.log(first);
  const { name } = training;
  const place = { config, gpuIndex: options.gpuIndex, folder, events, command: name };
  const reachedEnd = await runOnGpu(opened, place, run);
  if (!reachedEnd) Deno.exitCode = followed?.stoppedExitCode ?? INTERRUPTED_EXIT_CODE;
  if (ranks.rank > 0) return;
  for (const line of training.result(folder, config, reachedEnd)) console.log(line);
  if (trace !== null) console.log(describeTrace(trace));
  if (!reachedEnd) {
    console.log(`Stopped. Continue with: ./tango ${name} --run ${folder.path} --resume`);
  }
}

function begin<Config extends TrainingConfig, Run>(
  training: TrainingCommand<Config, Run>,
  options: TrainingOptions,
  ranks: number,
): ChosenRun<Config> {
  const config = training.withShards(training.load(options.config, options), ranks);
  const path = config.run_directory ?? nextRunDirectory("runs", training.runName(config));
  RunFolder.at(path).requireUnused();
  training.requireFree(config);
  return { config, path, changes: null, isDone: false };
}

function reopen<Config extends TrainingConfig, Run>(
  { name, load, changeableKeys, freeKeys, change, isDone }: TrainingCommand<Config, Run>,
  options: TrainingOptions,
  command: Command,
): ChosenRun<Config> {
  const allowed = ["run", "set", "ranks", ...TRACE_OPTIONS];
  refuseWithResume(command, allowed, [...changeableKeys, ...freeKeys]);
  const folder = RunFolder.open(options.run ?? latestRunDirectory("runs", name));
  requireNotRunning(folder);
  const isFree = (assignment: string) =>
    freeKeys.some((key) => new RegExp(`^${key}\\b`).test(assignment));
  const { free = [], changing = [] } = Object.groupBy(
    options.set ?? [],
    (assignment) => isFree(assignment) ? "free" : "changing",
  );
  const config = load(folder.configuration, { set: free });
  const changes = changing.length > 0 ? parseSettings(changing) : null;
  if (changes !== null) {
    // What cannot be is said before anything is loaded.
    const step = (latestCheckpoint(folder.checkpoints)?.step ?? 0) + 1;
    new ConfigHistory(folder.history, config, change).check(step, changes);
  }
  return { config, path: folder.path, changes, isDone: isDone(folder, config) };
}
