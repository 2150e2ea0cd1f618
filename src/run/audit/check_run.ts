/** Whether what lies in a run's folder is what its chain of records was made of; nothing is computed anew. */

import { join } from "node:path";
import { exists } from "../../platform/files/atomic_file.ts";
import { Digest, digestOfFile } from "../../platform/files/digest.ts";
import { linesOf } from "../../platform/files/lines.ts";
import { UserError } from "../../base/user_error.ts";
import { digestOfStoredState } from "../loop/loop_state.ts";
import { CHAIN_BEGIN, extendChain } from "../record/hash_chain.ts";
import {
  configurationKey,
  configurationParts,
  digestOfInput,
  digestOfModel,
  type Input,
} from "../record/inputs.ts";
import { digestOfMetrics, digestOfSamples } from "../record/run_record.ts";
import type { Parts, RecordLine } from "../store/audit_log.ts";
import { type CheckpointPlace, listCheckpoints } from "../store/checkpoint.ts";
import { readJsonLines } from "../store/json_lines_log.ts";
import { CHANGED } from "../store/metric_names.ts";
import type { MetricsLine } from "../store/metrics_log.ts";
import type { RunFolder } from "../store/run_folder.ts";
import { fileOf, StoredCheckpoint } from "../store/stored_checkpoint.ts";
import { recordKey, recordName } from "./record_name.ts";

/** Something that is not as the chain has it, in words. */
export type Finding = string;

/** What was found in a run's folder. */
export interface Checked {
  /** Empty where nothing was changed. */
  readonly findings: readonly Finding[];
  /** Checkpoints that can be gone on from. */
  readonly checkpoints: readonly CheckpointPlace[];
}

/** A run to be checked. */
export interface CheckableRun {
  readonly folder: RunFolder;
  readonly records: readonly RecordLine[];
  /** What it reads. */
  readonly inputs: readonly Input[];
  /** Where it leaves a policy's weights. */
  modelFolder(policy: string): string;
}

/** Finds what was changed in a run's folder, and in what the run reads, since the run wrote its records. */
export async function checkRun(run: CheckableRun): Promise<Checked> {
  const { findings, checkpoints } = await checkCheckpoints(run);
  return {
    findings: [
      ...await found(run.folder.audit, () => checkChain(run)),
      ...await found(run.folder.configuration, () => checkConfiguration(run)),
      ...await checkInputs(run),
      ...await found(run.folder.history, () => checkSettings(run)),
      ...await found(run.folder.metrics, () => checkMetrics(run)),
      ...await found(run.folder.samples, () => checkSamples(run)),
      ...findings,
      ...await checkModels(run),
    ],
    checkpoints,
  };
}

/** What a check finds, or why it cannot be made. */
async function found(
  path: string,
  check: () => readonly Finding[] | Promise<readonly Finding[]>,
): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof UserError) return [error.message];
    if (error instanceof SyntaxError) return [`${path}: a line of it is damaged: ${error.message}`];
    if (error instanceof Deno.errors.NotFound) return [`${path}: ${error.message}`];
    throw error;
  }
}

/** The first record that does not follow from those before it: all later ones hang on it. And whether any is gone. */
function checkChain({ folder: { audit, report }, records }: CheckableRun): Finding[] {
  let end = CHAIN_BEGIN;
  for (const [index, record] of records.entries()) {
    end = extendChain(end, record);
    if (end === record.chain) continue;
    const name = recordName(record);
    return [
      `${audit}:${
        index + 1
      }: the chain breaks at ${name}: the line was changed, or one before it is missing`,
    ];
  }
  const told = exists(report) ? /`([0-9a-f]{64})`/.exec(Deno.readTextFileSync(report))?.[1] : null;
  return !told || told === end ? [] : [`${audit}: the chain does not end as ${report} tells`];
}

function checkConfiguration(
  { folder: { configuration }, records: [{ parts }] }: CheckableRun,
): Finding[] {
  const now = configurationParts(configuration);
  return [...new Set([...Object.keys(parts), ...Object.keys(now)])].flatMap((part) => {
    const key = configurationKey(part);
    return key === null || parts[part] === now[part]
      ? []
      : [`${configuration}: ${key} is not what the run began with`];
  });
}

async function checkInputs({ inputs, records: [{ parts }] }: CheckableRun): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const one of inputs) {
    const { key, path } = one;
    // What the configuration did not name then is found in the configuration.
    if (!(key in parts)) continue;
    const changed = async () =>
      parts[key] === await digestOfInput(one)
        ? []
        : [`${key}: ${path} is not what the run began with`];
    const unread = (await found(path, changed)).map((finding) =>
      exists(path)
        ? finding
        : `${key}: there is no ${path}, looked for from ${Deno.cwd()}, any more`
    );
    findings.push(...unread);
  }
  return findings;
}

/** Settings that changed while the run went on. */
function checkSettings({ folder: { history }, records }: CheckableRun): Finding[] {
  const changes = exists(history)
    ? readJsonLines<{ step: number; settings: unknown }>(history)
    : [];
  const last = records[records.length - 1].step;
  const bySteps = Map.groupBy(changes.filter(({ step }) => step <= last), ({ step }) => step);
  const steps = new Map(records.filter(isStep).map(({ step, parts }) => [step, parts.settings]));
  const wrong = [...new Set([...bySteps.keys(), ...steps.keys()])].filter((step) => {
    const told = bySteps.get(step) ?? [];
    const digest = told.length === 0 ? undefined : new Digest().value(told[0].settings).hex();
    // Of what was before the first record, the chain says nothing.
    const isKnown = steps.has(step) || step > records[0].step;
    return isKnown && (told.length > 1 || steps.get(step) !== digest);
  });
  return wrong.sort((a, b) => a - b).map((step) =>
    `${history}: the settings that change in step ${step} are not those that the run took`
  );
}

const isStep = ({ phase }: RecordLine) => phase === "generator" || phase === "verifier";

function checkMetrics(run: CheckableRun): Finding[] {
  const { metrics } = run.folder;
  const lines = exists(metrics) ? readJsonLines<MetricsLine>(metrics) : [];
  const grouped = Map.groupBy(lines, recordKey);
  const digests = [...grouped].map(([key, [line, ...others]]): LoggedDigest => {
    const names = Object.entries(line).filter(([name]) =>
      name !== "step" && name !== "phase" && !name.startsWith(CHANGED)
    );
    return { key, line, digest: others.length > 0 ? "several" : digestOfMetrics(names) };
  });
  return compareLines(run, metrics, "metrics", digests);
}

/** Lines of a step or an evaluation. */
interface SampleTexts {
  readonly line: Pick<RecordLine, "step" | "phase">;
  readonly texts: string[];
}

function checkSamples(run: CheckableRun): Finding[] {
  const { samples } = run.folder;
  const grouped = new Map<string, SampleTexts>();
  for (const text of exists(samples) ? linesOf(samples) : []) {
    const { step, phase } = JSON.parse(text);
    const key = recordKey({ step, phase });
    const group: SampleTexts = grouped.get(key) ?? { line: { step, phase }, texts: [] };
    grouped.set(key, group);
    group.texts.push(text);
  }
  const digests = [...grouped].map(([key, { line, texts }]): LoggedDigest => ({
    ...{ key, line },
    digest: digestOfSamples(texts),
  }));
  return compareLines(run, samples, "samples", digests);
}

/** What a log says of a step or an evaluation. */
interface LoggedDigest {
  readonly key: string;
  readonly line: Pick<RecordLine, "step" | "phase">;
  readonly digest: string;
}

function compareLines(
  { records }: CheckableRun,
  path: string,
  part: "metrics" | "samples",
  logged: readonly LoggedDigest[],
): Finding[] {
  const digests = new Map(logged.map(({ key, digest }) => [key, digest]));
  const known = new Map(records.map((record) => [recordKey(record), record.parts[part]]));
  const wrong = records.flatMap((record) => {
    const expected = record.parts[part];
    const digest = digests.get(recordKey(record));
    if (expected === undefined || expected === digest) return [];
    const what = digest === undefined ? "is missing" : "is not what the run wrote";
    return [`${path}: what it says of ${recordName(record)} ${what}`];
  });
  const unknown = logged.filter(({ key, line }) =>
    known.get(key) === undefined && isPast(records, line)
  );
  return [
    ...wrong,
    ...unknown.map(({ line }) =>
      `${path}: what it says of ${recordName(line)} the run did not write`
    ),
  ];
}

/** Whether a line's record would be there: the run went further, and its records had begun. */
function isPast(records: readonly RecordLine[], { step }: { readonly step: number }): boolean {
  const [first] = records;
  const hasBegun = first.step === 0 || step > first.step;
  return hasBegun &&
    records.some((record) =>
      record.step > step || (record.step === step && ["weights", "models"].includes(record.phase))
    );
}

/** The checkpoints that are left. */
async function checkCheckpoints({ folder, records }: CheckableRun): Promise<Checked> {
  const saved = new Map(
    records.filter(({ phase }) => phase === "weights").map(({ step, parts }) => [step, parts]),
  );
  const findings: Finding[] = [];
  const sound: CheckpointPlace[] = [];
  for (const place of listCheckpoints(folder.checkpoints)) {
    const changed = await found(place.path, () => changedIn(place, saved.get(place.step)));
    if (changed.length === 0) sound.push(place);
    findings.push(...changed);
  }
  return { findings, checkpoints: sound };
}

/** @param saved what the chain says of the checkpoint; undefined where it was asked for from outside */
async function changedIn({ step, path }: CheckpointPlace, saved?: Parts): Promise<Finding[]> {
  const findings: Finding[] = [];
  const checkpoint = new StoredCheckpoint(path);
  const { digests } = checkpoint;
  const { state, ...models } = saved ?? digests;
  for (const [set, written] of Object.entries(models)) {
    const file = join(path, fileOf(set));
    if (!exists(file) || await digestOfFile(file) !== written || digests[set] !== written) {
      findings.push(`${file}: the weights of step ${step} are not those that the run saved`);
    }
  }
  if (saved && digestOfStoredState(checkpoint) !== state) {
    findings.push(`${path}: the state of step ${step} is not the one that the run saved`);
  }
  return findings;
}

/** The models that the run has left in the end. */
async function checkModels({ records, modelFolder }: CheckableRun): Promise<Finding[]> {
  const left = records.findLast(({ phase }) => phase === "models")?.parts ?? {};
  const findings: Finding[] = [];
  for (const [policy, written] of Object.entries(left)) {
    const path = modelFolder(policy);
    const changed = async () =>
      await digestOfModel(path, false) === written
        ? []
        : [`${path}: the model is not the one that the run left`];
    findings.push(...await found(path, changed));
  }
  return findings;
}
