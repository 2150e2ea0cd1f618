/** `deno task audit`: whether a run is what it says it is. */

import { styleText } from "node:util";
import type { Command } from "commander";
import type { OpenCommunicator } from "../distributed/open_communicator.ts";
import { startedBy } from "../distributed/mpi/started_by.ts";
import { broadcastValue } from "../distributed/values.ts";
import { describeDevice } from "../gpu/describe_device.ts";
import { type Checked, checkRun } from "../run/audit/check_run.ts";
import { chooseSteps } from "../run/audit/chosen_steps.ts";
import { deviceAt, startsOf } from "../run/audit/device_at.ts";
import { recordKey, recordName } from "../run/audit/record_name.ts";
import { readRecords } from "../run/audit/records.ts";
import { compareReplayed, describeCompared, describeNumbers } from "../run/audit/replayed_words.ts";
import { requireNotRunning } from "../run/control/endpoint/control_file.ts";
import { RunEvents } from "../run/events/run_events.ts";
import { inputsOf, type StoredRun, storedRun } from "../run/record/stored_run.ts";
import { modelFolderOf, replayRun } from "../run/session/audit_session.ts";
import type { RecordLine } from "../run/store/audit_log.ts";
import type { CheckpointPlace } from "../run/store/checkpoint.ts";
import { readJsonLines } from "../run/store/json_lines_log.ts";
import type { MetricsLine } from "../run/store/metrics_log.ts";
import { type DeviceFacts, factsOf, visibleDifferences } from "../run/store/run_device.ts";
import { latestRunDirectory, RunFolder } from "../run/store/run_folder.ts";
import { addExamples } from "./examples.ts";
import { EXIT } from "./program.ts";
import { onRanks } from "./ranks/on_ranks.ts";
import { runOnGpu } from "./ranks/run_on_gpu.ts";
import {
  gpuIndexOption,
  gpuOption,
  parseCount,
  parseWholeNumber,
  ranksOption,
} from "./run_options.ts";

interface AuditOptions {
  readonly steps: number;
  readonly reach: number;
  readonly seed: number;
  readonly gpu?: "auto" | "native" | "dawn";
  readonly gpuIndex?: number;
  readonly ranks?: number;
}

/** Adds the command. */
export function register(program: Command): void {
  const command = program.command("audit")
    .description(
      "Checks a run against the chain of records in its audit.jsonl: that nothing in its folder was changed, and, by " +
        "doing random steps again, that they give the same bytes.",
    )
    .argument("[run]", "the run's folder; default: the newest training run")
    .option("--steps <number>", "random steps that are done again; 0: none", parseWholeNumber, 5)
    .option(
      "--reach <steps>",
      "how many steps may be done again to get to one, from a checkpoint or from the beginning",
      parseCount,
      20,
    )
    .option("--seed <number>", "which steps are chosen", parseWholeNumber, 0)
    .addOption(gpuOption())
    .addOption(gpuIndexOption())
    .addOption(ranksOption())
    .action(audit);
  addExamples(command, {
    "deno task audit": "the newest training run: its files, and five of its steps",
    "deno task audit runs/chains-001 --steps 0": "its files alone, which takes no GPU",
    "deno task audit runs/chains-001 --steps 297 --reach 297": "all of its steps",
    "deno task audit runs/chains-001 --ranks 2":
      "done again by two processes, which gives the same bytes",
  });
}

async function audit(path: string | undefined, options: AuditOptions): Promise<void> {
  const open = (ranks: number): Audited => {
    const folder = RunFolder.open(path ?? latestRunDirectory("runs", "train"));
    requireNotRunning(folder);
    return { folder, run: storedRun(folder, ranks), records: readRecords(folder) };
  };
  await onRanks(options.ranks, (ranks) => void open(ranks), async (opened) => {
    const { communicator: ranks } = opened;
    const audited = open(ranks.size);
    // Reading large checkpoints takes a while, in which the other ranks wait.
    opened.waitAtMost(audited.run.config.distributed.wait_seconds);
    const checked = ranks.rank === 0 ? await checkFiles(audited) : null;
    const checkpoints = await broadcastValue(ranks, checked?.checkpoints ?? []);
    const isSame = await doAgain(audited, checkpoints, opened, options);
    if (!isSame || (checked && checked.findings.length > 0)) Deno.exitCode = EXIT.failure;
  });
}

interface Audited {
  readonly folder: RunFolder;
  readonly run: StoredRun;
  readonly records: readonly RecordLine[];
}

const green = (text: string) => coloured("green", text);
const red = (text: string) => coloured("red", text);

/** In colour where a person reads it: some launchers of ranks give each a terminal, and pass on what it prints. */
function coloured(colour: "green" | "red", text: string): string {
  const isRank = startedBy((name) => Deno.env.get(name)) !== null;
  return Deno.stdout.isTerminal() && !isRank ? styleText(colour, text) : text;
}

async function checkFiles({ folder, run, records }: Audited): Promise<Checked> {
  const checked = await checkRun({
    ...{ folder, records, inputs: inputsOf(run) },
    modelFolder: (policy) => modelFolderOf(run, folder, policy),
  });
  for (const finding of checked.findings) console.log(`${red("changed")}  ${finding}`);
  if (checked.findings.length === 0) {
    console.log(`${green("as written")}  ${folder.path}, by ${records.length} records`);
  }
  console.log(`chain  ${records[records.length - 1].chain}`);
  return checked;
}

/** @returns whether the steps that were chosen give the same bytes, on a device that ought to */
async function doAgain(
  { folder, run, records }: Audited,
  checkpoints: readonly CheckpointPlace[],
  opened: OpenCommunicator,
  { steps: count, seed, reach, gpu: engine, gpuIndex }: AuditOptions,
): Promise<boolean> {
  if (count === 0) return true;
  const { communicator: ranks } = opened;
  const tell = ranks.rank === 0 ? (line: string) => console.log(line) : () => {};
  const done = records.flatMap(({ step, phase }) =>
    phase === "generator" || phase === "verifier" ? [step] : []
  );
  const { stretches, reachable } = chooseSteps(checkpoints, done, { count, seed, reach });
  const outOfReach = reachable.length === done.length ? null : `
${reachable.length} of ${done.length} recorded steps are at most ${reach} behind the beginning or a checkpoint that is left (--reach; a run keeps more with --set schedule.keep_checkpoints=100).`;
  let isSame = true;
  if (stretches.length > 0) {
    const config = { ...run.config, ...(engine && { gpu: engine }) };
    const place = { config, gpuIndex, folder, events: new RunEvents(), command: null };
    const lines = new Map(
      readJsonLines<MetricsLine>(folder.metrics).map((line) => [recordKey(line), line]),
    );
    const starts = startsOf(folder);
    await runOnGpu(opened, place, async (gpu) => {
      tell(`\ndone again on ${describeDevice(gpu.info)}:`);
      let now: DeviceFacts | null = null;
      let told = "";
      await replayRun(gpu, run, folder, {
        ...{ ranks, stretches, records, tell },
        onDevice: (device) => now = factsOf(device),
        onRecord(replayed) {
          const { record } = replayed;
          const before = deviceAt(folder, starts, record.step);
          const others = before && now ? visibleDifferences(before, now).join(", ") : "";
          if (others !== "" && others !== told) {
            tell(`${others}: numbers are compared, bits may well differ`);
            told = others;
          }
          const compared = compareReplayed(replayed);
          if (compared.differing.length === 0) {
            tell(`${green("the same")}  ${recordName(record)}: ${describeCompared(compared)}`);
          } else if (others !== "") {
            const numbers = describeNumbers(replayed, lines.get(recordKey(record)));
            tell(`compared  ${recordName(record)}: ${numbers}`);
          } else {
            isSame = false;
            tell(`${red("differs")}  ${recordName(record)}: ${describeCompared(compared)}`);
          }
        },
      });
    });
  }
  if (outOfReach !== null) tell(outOfReach);
  return isSame;
}
