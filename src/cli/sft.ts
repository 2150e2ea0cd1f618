/** `deno task sft`: makes a policy's warm-start weights. */

import type { Command } from "commander";
import type { OpenCommunicator } from "../distributed/open_communicator.ts";
import { broadcastOutcome } from "../distributed/outcomes.ts";
import type { Gpu } from "../gpu/gpu.ts";
import { requireShards, withSftParts } from "../run/config/placement.ts";
import { ConfigHistory } from "../run/control/config_history.ts";
import { requireNotRunning } from "../run/control/endpoint/control_file.ts";
import { INTERRUPTED_EXIT_CODE } from "./interrupt.ts";
import { readJsonLines } from "../run/store/json_lines_log.ts";
import { loadSftConfig } from "../run/config/load_config.ts";
import { formatMemoryPlans } from "../run/memory/memory_plan.ts";
import { METRIC } from "../run/store/metric_names.ts";
import type { MetricsLine } from "../run/store/metrics_log.ts";
import { latestCheckpoint } from "../run/store/checkpoint.ts";
import { problemsName } from "../run/problems/open_problems.ts";
import { latestRunDirectory, nextRunDirectory, RunFolder } from "../run/store/run_folder.ts";
import {
  changeableSftKeys,
  changeSftConfig,
  parseSettings,
  type Settings,
} from "../run/config/changeable.ts";
import type { SftConfig } from "../run/config/sft_config_schema.ts";
import { sftAccuracy } from "../run/report/sft_report.ts";
import { sftWeights } from "../run/sft/sft_run.ts";
import { fineTuneWithReport } from "../run/session/sft_session.ts";
import { type RunTimeline, withTimeline } from "../run/trace/run_timeline.ts";
import { describeDevice } from "../gpu/describe_device.ts";
import { describeParameters, describeParts } from "./device_line.ts";
import { addExamples } from "./examples.ts";
import { FollowedRun } from "./followed_run.ts";
import { RunEvents } from "../run/events/run_events.ts";
import { describeEvaluation, describeUpdates } from "./progress/sft_progress.ts";
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

interface SftOptions extends ConfigOptions, TracedRunOptions {
  readonly resume?: boolean;
  readonly ranks?: number;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = addConfigOptions(
    program.command("sft"),
    "configs/last-letter-generator-sft.yaml",
  )
    .description("Fine-tunes a policy on written solutions or critiques: its warm-start weights.")
    .addOption(resumeOption())
    .addOption(ranksOption())
    .action(fineTune);
  addTraceOptions(command);
  addExamples(command, {
    "deno task sft --set output_directory=weights/mine/generator": "a new generator",
    "deno task sft --config configs/last-letter-verifier-sft.yaml --set output_directory=null":
      "a new verifier, left in the run's folder",
    "deno task sft --resume": "continues the newest fine-tuning where it stopped",
  });
}

async function fineTune(options: SftOptions, command: Command): Promise<void> {
  // What is wrong with it is said before any rank is started.
  const check = (ranks: number) => {
    const { config } = options.resume ? reopen(options, command) : begin(options, ranks);
    requireShards(config.reduction.shards, ranks, "the model");
  };
  await onRanks(options.ranks, check, (opened) => fineTuneOn(opened, options, command));
}

/** Fine-tunes as one of the ranks. The first one says which run, and is the one that is heard and prints. */
async function fineTuneOn(
  opened: OpenCommunicator,
  options: SftOptions,
  command: Command,
): Promise<void> {
  const { communicator: ranks } = opened;
  const { config, path, changes } = await broadcastOutcome(
    ranks,
    0,
    () => Promise.resolve(options.resume ? reopen(options, command) : begin(options, ranks.size)),
  );
  const folder = RunFolder.at(path);
  const name = problemsName(config);
  using followed = ranks.rank === 0 ? new FollowedRun(describeUpdates, "update") : null;
  if (changes !== null) followed?.changeAtStart(changes);
  const events = followed?.events ?? new RunEvents();
  events.listen((event) => {
    const line = describeEvaluation(event, config.policy);
    if (line !== null) followed?.progress.note(line);
  });
  const trace = traceOptions(options, folder);
  const run = (gpu: Gpu) => {
    const device = describeDevice(gpu.info);
    const session = (timeline: RunTimeline) =>
      fineTuneWithReport(gpu, config, folder.path, {
        resume: options.resume ?? false,
        timeline,
        events,
        control: followed?.control,
        endpoint: followed?.endpoint,
        ranks: timeline.ranks,
        tuning: config.tuning,
        tell: (line) => console.log(line),
        onPlan: (plans) => console.log(`${formatMemoryPlans(plans)}\n`),
        onOpen(run) {
          if (run.examples.report !== null) console.log(`${run.examples.report}\n`);
          const model = `${config.policy} of ${describeParameters(run.parameterCount)}`;
          const place = options.resume ? `${folder.path} from update ${run.step}` : folder.path;
          const shared = describeParts(ranks.size, config);
          console.log(
            ["supervised fine-tuning", name, model, device, ...shared, place].join(" · "),
          );
        },
      });
    return withTimeline(gpu, { ranks, events }, trace, session);
  };
  // Both may take a while, in which there is nothing else to see.
  console.log(`Reading ${name} and planning the memory ...`);
  const place = { config, gpuIndex: options.gpuIndex, folder, events };
  const reachedEnd = await runOnGpu(opened, { ...place, command: "sft" }, run);
  if (!reachedEnd) Deno.exitCode = followed?.stoppedExitCode ?? INTERRUPTED_EXIT_CODE;
  if (ranks.rank > 0) return;
  printResult(folder, config);
  if (trace !== null) console.log(describeTrace(trace));
  if (reachedEnd) {
    console.log(`weights: ${sftWeights(folder, config)}, report: ${folder.report}`);
    return;
  }
  console.log(`Stopped. Continue with: ./tango sft --run ${folder.path} --resume`);
}

/** Plain data, for the first rank tells it to the others. */
interface ChosenRun {
  readonly config: SftConfig;
  /** Of its folder. */
  readonly path: string;
  /** What --resume changes from its first update on. */
  readonly changes: Settings | null;
}

function begin(options: SftOptions, ranks: number): ChosenRun {
  const config = withSftParts(loadSftConfig(options.config, options), ranks);
  const path = config.run_directory ??
    nextRunDirectory("runs", `${problemsName(config)}-${config.policy}-sft`);
  RunFolder.at(path).requireUnused();
  return { config, path, changes: null };
}

function reopen(options: SftOptions, command: Command): ChosenRun {
  refuseWithResume(command, ["run", "set", "ranks", ...TRACE_OPTIONS], changeableSftKeys);
  const folder = RunFolder.open(options.run ?? latestRunDirectory("runs", "sft"));
  requireNotRunning(folder);
  const config = loadSftConfig(folder.configuration);
  const changes = options.set ? parseSettings(options.set) : null;
  if (changes !== null) {
    // What cannot be is said before anything is loaded.
    const step = (latestCheckpoint(folder.checkpoints)?.step ?? 0) + 1;
    new ConfigHistory(folder.history, config, changeSftConfig).check(step, changes);
  }
  return { config, path: folder.path, changes };
}

function printResult(folder: RunFolder, config: SftConfig): void {
  const evaluations = readJsonLines<MetricsLine>(folder.metrics)
    .filter(({ phase }) => phase === "evaluation");
  const last = evaluations.at(-1);
  if (last === undefined) return;
  const { name, metric } = sftAccuracy(config.policy);
  const accuracy = metric in last ? `${name}: ${(100 * Number(last[metric])).toFixed(1)} %, ` : "";
  console.log(
    `${accuracy}held-out loss: ${
      Number(last[METRIC.heldOutLoss]).toFixed(4)
    } after ${last.step} updates`,
  );
}
