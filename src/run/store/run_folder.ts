/** The folder of one run, and where in it everything lies. */

import { mkdirSync, readDirSync, statSync } from "../../platform/system/files.ts";
import { join } from "../../platform/system/paths.ts";
import { stringify } from "yaml";
import { UserError } from "../../base/user_error.ts";
import { exists, removeIfPresent, writeFileAtomically } from "../../platform/files/atomic_file.ts";

/** Advice for when there is room again for a run's files; see `Writing`. */
export const CONTINUE = "continue the run with --resume";

const CONFIGURATION_FILE = "config.yaml";
const CONTROL_FILE = "control.json";

/** A run's folder; its files are named here and nowhere else. */
export class RunFolder {
  private constructor(readonly path: string) {}

  /**
   * Makes the folder of a new run and writes the resolved configuration into it.
   *
   * @throws UserError when a run is already there, or the disk does not take it
   */
  static create(path: string, configuration: object): RunFolder {
    const folder = new RunFolder(path);
    folder.requireUnused();
    try {
      mkdirSync(path, { recursive: true });
    } catch (error) {
      throw new UserError(
        `The run folder ${path} cannot be made: ${
          (error as Error).message
        }. Choose another with --run.`,
      );
    }
    try {
      writeFileAtomically(folder.configuration, stringify(configuration));
    } catch (error) {
      folder.discardIfUnbegun();
      throw error;
    }
    return folder;
  }

  /** The folder at a path, whether or not a run is there. */
  static at(path: string): RunFolder {
    return new RunFolder(path);
  }

  /** Whether a run was begun here. */
  get isUsed(): boolean {
    return exists(this.configuration);
  }

  /** @throws UserError when a run was begun here */
  requireUnused(): void {
    if (!this.isUsed) return;
    throw new UserError(
      `${this.path} already holds a run. train, sft and compare continue theirs with --resume; otherwise choose ` +
        `another folder with --run.`,
    );
  }

  /**
   * Opens the folder of an earlier run.
   *
   * @throws UserError when there is no run
   */
  static open(path: string): RunFolder {
    const folder = new RunFolder(path);
    if (!exists(folder.configuration)) {
      throw new UserError(
        `${path} holds no run (there is no ${folder.configuration}). Check the folder given with --run.`,
      );
    }
    return folder;
  }

  /** Removes the folder of a run that failed before it began: nothing but its configuration was written. */
  discardIfUnbegun(): void {
    const ofAnyRun = [CONFIGURATION_FILE, CONTROL_FILE];
    if ([...readDirSync(this.path)].every(({ name }) => ofAnyRun.includes(name))) {
      removeIfPresent(this.path);
    }
  }

  /** The configuration with every default and override filled in. */
  get configuration(): string {
    return join(this.path, CONFIGURATION_FILE);
  }

  /** Settings that changed while the run went on, and from which step. */
  get history(): string {
    return join(this.path, "config-history.jsonl");
  }

  /** Device of the run since it was last begun or resumed. */
  get device(): string {
    return join(this.path, "device.json");
  }

  get metrics(): string {
    return join(this.path, "metrics.jsonl");
  }

  /** What each step came from, as a chain of digests. */
  get audit(): string {
    return join(this.path, "audit.jsonl");
  }

  /** Metrics that depend on the clock. */
  get timings(): string {
    return join(this.path, "timings.jsonl");
  }

  /** Activity of each rank. */
  get timeline(): string {
    return join(this.path, "timeline.jsonl");
  }

  /** Event files for TensorBoard. */
  get tensorBoard(): string {
    return join(this.path, "tensorboard");
  }

  get samples(): string {
    return join(this.path, "samples.jsonl");
  }

  /** Events of the run, for those who follow it. */
  get events(): string {
    return join(this.path, "events.jsonl");
  }

  /** Tells where the run can be asked for something, as long as its process goes on. */
  get control(): string {
    return join(this.path, CONTROL_FILE);
  }

  get checkpoints(): string {
    return join(this.path, "checkpoints");
  }

  /** Notes that a person has written on the run. */
  get notes(): string {
    return join(this.path, "notes.json");
  }

  get report(): string {
    return join(this.path, "report.md");
  }

  get curves(): string {
    return join(this.path, "curves.svg");
  }

  /** Path for the next timeline: each start of a run writes its own. */
  get nextTrace(): string {
    for (let number = 1;; number++) {
      const suffix = number === 1 ? "" : `-${String(number).padStart(3, "0")}`;
      const path = join(this.path, `trace${suffix}.json`);
      if (!exists(path)) return path;
    }
  }

  /** The folder where a finished run leaves a policy's weights, tokenizer and model configuration. */
  weights(policy: "generator" | "verifier"): string {
    return join(this.path, policy);
  }

  /** Folder of a policy's weights at the best evaluation. */
  best(policy: "generator" | "verifier"): string {
    return join(this.path, "best", policy);
  }
}

/** Kind of a numbered folder in runs/, told by its name. */
export type RunKind = "train" | "sft" | "compare";

/** The next unused numbered folder for a new run: `runs/last-letter-001`, `runs/last-letter-002`… */
export function nextRunDirectory(parent: string, name: string): string {
  const numbers = numberedRuns(parent).filter((run) => run.name === name)
    .map(({ number }) => number);
  const next = Math.max(0, ...numbers) + 1;
  return join(parent, `${name}-${String(next).padStart(3, "0")}`);
}

/**
 * The numbered folder of the newest run of a kind.
 *
 * @throws UserError when there is none
 */
export function latestRunDirectory(parent: string, kind: RunKind): string {
  const latest = numberedRuns(parent)
    .filter(({ name, path }) => kindOf(name) === kind && RunFolder.at(path).isUsed)
    .map(({ path, number }) => ({ path, number, started: whenStarted(path) }))
    .sort((a, b) => a.started - b.started || a.number - b.number).at(-1);
  if (latest === undefined) {
    const words = { train: "training run", sft: "fine-tuning", compare: "comparison" };
    throw new UserError(`${parent} holds no ${words[kind]}. Name the run's folder with --run.`);
  }
  return latest.path;
}

function kindOf(name: string): RunKind {
  return /-(sft|compare)$/.exec(name)?.[1] as RunKind | undefined ?? "train";
}

/** The configuration is written once, when the run begins. */
function whenStarted(path: string): number {
  const { configuration } = RunFolder.at(path);
  return exists(configuration) ? statSync(configuration).mtime?.getTime() ?? 0 : 0;
}

function numberedRuns(parent: string): { name: string; number: number; path: string }[] {
  if (!exists(parent)) return [];
  return [...readDirSync(parent)].flatMap((entry) => {
    const match = /^(.+)-(\d{3,})$/.exec(entry.name);
    return entry.isDirectory && match
      ? [{ name: match[1], number: Number(match[2]), path: join(parent, entry.name) }]
      : [];
  });
}
