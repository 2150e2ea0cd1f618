/** `deno task audit`: whether a run is what it says it is. */

import process from "node:process";
import { styleText } from "node:util";
import type { Command } from "commander";
import type { OpenCommunicator } from "../distributed/open_communicator.ts";
import { broadcastValue } from "../distributed/values.ts";
import { describeDevice } from "../gpu/describe_device.ts";
import { type Checked, checkRecords } from "../run/audit/check_records.ts";
import { chooseSteps } from "../run/audit/chosen_steps.ts";
import { readRecords, recordKey, recordName } from "../run/audit/records.ts";
import { compareReplayed, describeCompared, describeNumbers } from "../run/audit/replayed_words.ts";
import { RunEvents } from "../run/events/run_events.ts";
import { inputsOf, replayRun, type StoredRun, storedRun } from "../run/session/audit_session.ts";
import type { RecordLine } from "../run/store/audit_log.ts";
import type { CheckpointPlace } from "../run/store/checkpoint.ts";
import { readJsonLines } from "../run/store/json_lines_log.ts";
import type { MetricsLine } from "../run/store/metrics_log.ts";
import { readRunDevice, visibleDifferences } from "../run/store/run_device.ts";
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
    .argument("[run]", "the run's folder; default: the newest run")
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
    "deno task audit": "the newest run: its files, and five of its steps",
    "deno task audit runs/chains-001 --steps 0": "its files alone, which takes no GPU",
    "deno task audit runs/chains-001 --steps 297 --reach 297": "all of its steps",
    "deno task audit runs/chains-001 --ranks 2":
      "done again by two processes, which gives the same bytes",
  });
}

async function audit(run: string | undefined, options: AuditOptions): Promise<void> {
  const open = () => {
    const folder = RunFolder.open(run ?? latestRunDirectory("runs", "train"));
    return { folder, run: storedRun(folder), records: readRecords(folder) };
  };
  await onRanks(options.ranks, () => void open(), async (opened) => {
    const audited = open();
    const isFirst = opened.communicator.rank === 0;
    const { communicator: ranks } = opened;
    const checked = isFirst ? await checkFiles(audited) : null;
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

const green = (text: string) => styleText("green", text, { stream: process.stdout });
const red = (text: string) => styleText("red", text, { stream: process.stdout });

async function checkFiles({ folder, run, records }: Audited): Promise<Checked> {
  const checked = await checkRecords(folder, inputsOf(run), records);
  const { findings } = checked;
  for (const finding of findings) console.log(`${red("changed")}  ${finding}`);
  if (findings.length === 0) {
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
  const { communicator: ranks } = opened;
  const last = records[records.length - 1].step;
  const { stretches, reachable } = chooseSteps(checkpoints, last, { count, seed, reach });
  if (stretches.length === 0) return true;
  const config = { ...run.config, ...(engine && { gpu: engine }) };
  const before = readRunDevice(folder);
  const lines = new Map(
    readJsonLines<MetricsLine>(folder.metrics).map((line) => [recordKey(line), line]),
  );
  let isSame = true, isOther = false;
  const tell = ranks.rank === 0 ? (line: string) => console.log(line) : () => {};
  const place = { config, gpuIndex, folder, events: new RunEvents(), command: run.kind };
  await runOnGpu(opened, place, async (gpu) => {
    tell(`\ndone again on ${describeDevice(gpu.info)}:`);
    await replayRun(gpu, run, folder, {
      ...{ ranks, stretches, records, tell },
      onDevice(device) {
        const others = before === null ? [] : visibleDifferences(before, device);
        isOther = others.length > 0;
        if (isOther) tell(`${others.join(", ")}: numbers are compared, bits may well differ`);
      },
      onRecord(replayed) {
        const name = recordName(replayed.record);
        const compared = compareReplayed(replayed);
        if (compared.differing.length === 0) {
          tell(`${green("the same")}  ${name}: ${describeCompared(compared)}`);
        } else if (isOther) {
          tell(
            `compared  ${name}: ${
              describeNumbers(replayed, lines.get(recordKey(replayed.record)))
            }`,
          );
        } else {
          isSame = false;
          tell(`${red("differs")}  ${name}: ${describeCompared(compared)}`);
        }
      },
    });
  });
  if (reachable.length < last) {
    tell(
      `\n${reachable.length} of ${last} steps are at most ${reach} behind the beginning or a checkpoint that is left ` +
        `(--reach; a run keeps more with --set schedule.keep_checkpoints=100).`,
    );
  }
  return isSame;
}
