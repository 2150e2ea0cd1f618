/** The generators and verifiers of runs, as they were after some steps. */

import { createHash } from "node:crypto";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { UserError } from "../../base/user_error.ts";
import type { PolicyName } from "../../rl/policy.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { loadTangoConfig } from "../config/load_config.ts";
import { problemsName } from "../problems/open_problems.ts";
import { type CheckpointPlace, listCheckpoints, placeOfCheckpoint } from "../store/checkpoint.ts";
import { RunFolder } from "../store/run_folder.ts";
import { isComplete, STATE_FILE, StoredCheckpoint } from "../store/stored_checkpoint.ts";
import { policyOf } from "../tango/load_policy.ts";

/** Which checkpoints of a run: all, the first, middle and last of those kept, or those of some steps. */
export type CheckpointChoice = "all" | "spread" | readonly number[];

/** A run whose policies write or judge. */
export interface BankRun {
  readonly path: string;
  /** As the run was, with what the command line changes. */
  readonly config: TangoConfig;
  /** As the run was. */
  readonly trainedWith: TangoConfig;
  /** In ascending order of their steps. */
  readonly checkpoints: readonly CheckpointPlace[];
  /** Step of the newest checkpoint: so far it has drawn problems. */
  readonly newestStep: number;
}

/** A generator or verifier with its weights. */
export interface BankPolicy {
  /** `RUN@STEP`, or the model's path where it begins. */
  readonly name: string;
  readonly config: TangoConfig;
  /** Null for a model by itself. */
  readonly run: string | null;
  /** 0 for what a run begins with; null for a model by itself. */
  readonly step: number | null;
  readonly checkpoint: StoredCheckpoint | null;
}

/**
 * Opens runs.
 *
 * @param set what the command line changes in their configurations
 * @throws UserError when a run, or one of its checkpoints, is not there
 */
export function openBankRuns(
  folders: readonly string[],
  choice: CheckpointChoice,
  { set, gpu }: { readonly set: readonly string[]; readonly gpu?: string },
): BankRun[] {
  const paths = folders.map((folder) => folder.replace(/(?<=.)\/+$/, ""));
  const repeated = paths.find((path, i) => paths.indexOf(path) < i);
  if (repeated !== undefined) throw new UserError(`--run names ${repeated} twice.`);
  return paths.map((path) => {
    const folder = RunFolder.open(path);
    const trainedWith = loadTangoConfig(folder.configuration, { gpu });
    const config = loadTangoConfig(folder.configuration, { set, gpu });
    const checkpoints = chooseCheckpoints(folder.checkpoints, choice);
    const newestStep = listCheckpoints(folder.checkpoints).at(-1)?.step ?? 0;
    return { path, config, trainedWith, checkpoints, newestStep };
  });
}

function chooseCheckpoints(folder: string, choice: CheckpointChoice): CheckpointPlace[] {
  if (choice !== "all" && choice !== "spread") {
    // What a run begins with is there in any case.
    const steps = [...new Set(choice)].filter((step) => step > 0).sort((a, b) => a - b);
    return steps.map((step) => withAdvice(() => placeOfCheckpoint(folder, step)));
  }
  const whole = listCheckpoints(folder).filter(({ path }) => isComplete(path));
  if (whole.length === 0) withAdvice(() => placeOfCheckpoint(folder, null));
  if (choice === "all") return whole;
  const spread = [0, Math.floor((whole.length - 1) / 2), whole.length - 1];
  return [...new Set(spread)].map((place) => whole[place]);
}

function withAdvice<Result>(body: () => Result): Result {
  try {
    return body();
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(
      `${error.message} A run keeps its newest two unless schedule.keep_checkpoints says more: train with ` +
        `--set schedule.keep_checkpoints=100.`,
    );
  }
}

/**
 * Policies of runs: each one's checkpoints, and before them what it began with, once where several began with the same.
 * A policy that a run does not train has no others.
 *
 * @throws UserError when a run has no such policy
 */
export function policiesOf(runs: readonly BankRun[], name: PolicyName): BankPolicy[] {
  const begun = new Set<string>();
  return runs.flatMap(({ path: run, config, checkpoints }) => {
    if (config[name] === null) {
      throw new UserError(`${run} has no ${name}. Leave it out, or name a run that has one.`);
    }
    const { model, trained } = policyOf(config, name);
    const isKnown = begun.has(model);
    begun.add(model);
    return [
      ...(isKnown ? [] : [{ name: model, config, run, step: 0, checkpoint: null }]),
      ...(trained ? checkpoints : []).map(({ step, path }) => ({
        name: `${run}@${step}`,
        config,
        run,
        step,
        checkpoint: new StoredCheckpoint(path),
      })),
    ];
  });
}

/** Hash of all that says which weights a policy has. */
export function weightsHash(name: PolicyName, { config, checkpoint }: BankPolicy): string {
  const hash = createHash("sha256");
  // It holds the hashes of the tensors.
  if (checkpoint) {
    return hash.update(Deno.readFileSync(join(checkpoint.path, STATE_FILE))).digest("hex");
  }
  const { model } = policyOf(config, name);
  for (const file of filesOf(model)) hashFile(file, hash);
  return hash.digest("hex");
}

function filesOf(model: string): string[] {
  try {
    if (Deno.statSync(model).isFile) return [model];
    const names = [...Deno.readDirSync(model)].filter(({ isDirectory }) => !isDirectory);
    return names.map(({ name }) => join(model, name)).sort();
  } catch (error) {
    throw new UserError(`The model ${model} cannot be read: ${(error as Error).message}.`);
  }
}

function hashFile(path: string, hash: ReturnType<typeof createHash>): void {
  using file = Deno.openSync(path, { read: true });
  const buffer = new Uint8Array(1 << 20);
  for (let read = file.readSync(buffer); read !== null; read = file.readSync(buffer)) {
    hash.update(buffer.subarray(0, read));
  }
}

/**
 * Checks that runs hold out the same problems.
 *
 * @throws UserError naming two that do not
 */
export function requireSameProblems(runs: readonly BankRun[]): void {
  const [first, ...others] = runs;
  const kind = ({ config: { task, data } }: BankRun) => data === null ? { task } : { data };
  for (const other of others) {
    if (isDeepStrictEqual(kind(first), kind(other))) continue;
    const names = [first, other].map(({ config }) => problemsName(config));
    const isOneTask = names[0] === names[1] && (first.config.data ?? other.config.data) === null;
    throw new UserError(
      isOneTask
        ? `A bank has one difficulty, and ${first.path} and ${other.path} were trained at different ones of ` +
          `${names[0]}. Say one for all: --minimum-steps, --maximum-steps or --set task.…`
        : `A bank is of one task: ${first.path} is of ${names[0]}, ${other.path} of ${names[1]}` +
          `${names[0] === names[1] ? " from other files" : ""}. Make a bank of each.`,
    );
  }
}
