/** Whether what lies in a run's folder is what its chain of records was made of; nothing is computed anew. */

import { join } from "node:path";
import { exists } from "../../base/atomic_file.ts";
import { Digest, digestOfFile } from "../../base/digest.ts";
import { UserError } from "../../base/user_error.ts";
import { type CheckpointPlace, listCheckpoints } from "../store/checkpoint.ts";
import { readJsonLines } from "../store/json_lines_log.ts";
import type { Parts, RecordLine } from "../store/audit_log.ts";
import { CHANGED } from "../store/metric_names.ts";
import type { MetricsLine } from "../store/metrics_log.ts";
import type { RunFolder } from "../store/run_folder.ts";
import type { Sample } from "../store/samples_log.ts";
import { fileOf, StoredCheckpoint } from "../store/stored_checkpoint.ts";
import { CHAIN_BEGIN, extendChain } from "../record/hash_chain.ts";
import { configurationParts, digestOfInput, type Input } from "../record/inputs.ts";
import { recordKey, recordName } from "./records.ts";
import { digestOfMetrics, digestOfSamples } from "../record/run_record.ts";

/** Something that is not as the chain has it, in words. */
export type Finding = string;

/** What was found in a run's folder. */
export interface Checked {
  /** Empty where nothing was changed. */
  readonly findings: readonly Finding[];
  /** Checkpoints that can be gone on from. */
  readonly checkpoints: readonly CheckpointPlace[];
}

/** Finds what was changed in a run's folder, and in what the run reads, since the run wrote its records. */
export async function checkRecords(
  folder: RunFolder,
  inputs: readonly Input[],
  records: readonly RecordLine[],
): Promise<Checked> {
  const { findings, checkpoints } = await checkCheckpoints(folder, records);
  return {
    findings: [
      ...checkChain(folder, records),
      ...await checkInputs(folder, inputs, records[0]),
      ...checkSettings(folder, records),
      ...checkMetrics(folder, records),
      ...checkSamples(folder, records),
      ...findings,
    ],
    checkpoints,
  };
}

/** The first record that does not follow from those before it: all later ones hang on it. */
function checkChain({ audit }: RunFolder, records: readonly RecordLine[]): Finding[] {
  let end = CHAIN_BEGIN;
  for (const [index, record] of records.entries()) {
    end = extendChain(end, record);
    if (end !== record.chain) {
      return [
        `${audit}:${index + 1}: the chain breaks at ${
          recordName(record)
        }: the line was changed, or one before it is ` +
        `missing`,
      ];
    }
  }
  return [];
}

async function checkInputs(
  { configuration }: RunFolder,
  inputs: readonly Input[],
  { parts }: RecordLine,
): Promise<Finding[]> {
  const now = configurationParts(configuration);
  const findings = Object.entries(now)
    .filter(([name, digest]) => parts[name] !== digest)
    .map(([name]) =>
      `${configuration}: ${name.replace(/^\w+\./, "")} is not what the run began with`
    );
  for (const { key, path } of inputs) {
    if (!exists(path)) findings.push(`${key}: ${path} is not there any more`);
    else if (parts[key] !== await digestOfInput(path)) {
      findings.push(`${key}: ${path} is not what the run began with`);
    }
  }
  return findings;
}

/** Settings that changed while the run went on. */
function checkSettings({ history }: RunFolder, records: readonly RecordLine[]): Finding[] {
  const changes = exists(history)
    ? readJsonLines<{ step: number; settings: unknown }>(history)
    : [];
  const found = new Map(
    changes.map(({ step, settings }) => [step, new Digest().value(settings).hex()]),
  );
  return records.flatMap(({ step, phase, parts }) => {
    const isStep = phase === "generator" || phase === "verifier";
    return !isStep || parts.settings === found.get(step)
      ? []
      : [`${history}: the settings that change in step ${step} are not those that the run took`];
  });
}

function checkMetrics({ metrics }: RunFolder, records: readonly RecordLine[]): Finding[] {
  const lines = exists(metrics) ? readJsonLines<MetricsLine>(metrics) : [];
  const found = new Map(lines.map((line) => [
    recordKey(line),
    digestOfMetrics(
      Object.entries(line).filter(([name]) =>
        name !== "step" && name !== "phase" && !name.startsWith(CHANGED)
      ),
    ),
  ]));
  return compareLines(metrics, "metrics", records, found);
}

function checkSamples({ samples }: RunFolder, records: readonly RecordLine[]): Finding[] {
  const lines = exists(samples) ? readJsonLines<Sample>(samples) : [];
  const found = new Map(
    [...Map.groupBy(lines, recordKey)].map(([key, some]) => [
      key,
      digestOfSamples(some.map((sample) => JSON.stringify(sample))),
    ]),
  );
  return compareLines(samples, "samples", records, found);
}

function compareLines(
  path: string,
  part: "metrics" | "samples",
  records: readonly RecordLine[],
  found: ReadonlyMap<string, string>,
): Finding[] {
  return records.flatMap((record) => {
    const expected = record.parts[part];
    const digest = found.get(recordKey(record));
    if (expected === undefined || expected === digest) return [];
    const what = digest === undefined ? "is missing" : "is not what the run wrote";
    return [`${path}: what it says of ${recordName(record)} ${what}`];
  });
}

/** The checkpoints that are left. */
async function checkCheckpoints(
  { checkpoints }: RunFolder,
  records: readonly RecordLine[],
): Promise<Checked> {
  const saved = new Map(
    records.filter(({ phase }) => phase === "weights").map(({ step, parts }) => [step, parts]),
  );
  const findings: Finding[] = [];
  const sound: CheckpointPlace[] = [];
  for (const place of listCheckpoints(checkpoints)) {
    const changed = await findChanged(place, saved.get(place.step));
    if (changed.length === 0) sound.push(place);
    findings.push(...changed);
  }
  return { findings, checkpoints: sound };
}

/** @param saved what the chain says of the checkpoint; undefined where it was asked for from outside */
async function findChanged({ step, path }: CheckpointPlace, saved?: Parts): Promise<Finding[]> {
  const findings: Finding[] = [];
  try {
    const { digests } = new StoredCheckpoint(path);
    for (const [set, written] of Object.entries(saved ?? digests)) {
      const file = join(path, fileOf(set));
      if (!exists(file) || await digestOfFile(file) !== written || digests[set] !== written) {
        findings.push(`${file}: the weights of step ${step} are not those that the run saved`);
      }
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    findings.push(error.message);
  }
  return findings;
}
