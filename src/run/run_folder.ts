/** The folder of one run, and where in it everything lies. */

import { join } from "node:path";
import { stringify } from "yaml";
import { UserError } from "../user_error.ts";
import { exists, removeIfPresent, writeFileAtomically } from "./atomic_file.ts";

const CONFIGURATION_FILE = "config.yaml";

/** A run's folder; its files are named here and nowhere else. */
export class RunFolder {
  private constructor(readonly path: string) {}

  /**
   * Makes the folder of a new run and writes the resolved configuration into it.
   *
   * @throws UserError when a run is already there
   */
  static create(path: string, configuration: object): RunFolder {
    const folder = new RunFolder(path);
    if (exists(folder.configuration)) {
      throw new UserError(
        `${path} already holds a run. train and compare continue theirs with --resume; otherwise choose ` +
          `another folder with --run.`,
      );
    }
    try {
      Deno.mkdirSync(path, { recursive: true });
    } catch (error) {
      throw new UserError(
        `The run folder ${path} cannot be made: ${
          (error as Error).message
        }. Choose another with --run.`,
      );
    }
    writeFileAtomically(folder.configuration, stringify(configuration));
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

  /** Removes the folder of a run that failed before it began: one that holds its configuration alone. */
  discardIfUnbegun(): void {
    if ([...Deno.readDirSync(this.path)].every(({ name }) => name === CONFIGURATION_FILE)) {
      removeIfPresent(this.path);
    }
  }

  /** The configuration with every default and override filled in. */
  get configuration(): string {
    return join(this.path, CONFIGURATION_FILE);
  }

  get metrics(): string {
    return join(this.path, "metrics.jsonl");
  }

  /** Metrics that depend on the clock. */
  get timings(): string {
    return join(this.path, "timings.jsonl");
  }

  get samples(): string {
    return join(this.path, "samples.jsonl");
  }

  get checkpoints(): string {
    return join(this.path, "checkpoints");
  }

  get report(): string {
    return join(this.path, "report.md");
  }

  get curves(): string {
    return join(this.path, "curves.svg");
  }

  /** The folder where a finished run leaves a policy's weights, tokenizer and model configuration. */
  weights(policy: "generator" | "verifier"): string {
    return join(this.path, policy);
  }
}

/** The next unused numbered folder for a new run: `runs/last-letter-001`, `runs/last-letter-002`… */
export function nextRunDirectory(parent: string, name: string): string {
  const numbers = numberedRuns(parent, name).map(({ number }) => number);
  const next = Math.max(0, ...numbers) + 1;
  return join(parent, `${name}-${String(next).padStart(3, "0")}`);
}

/**
 * The numbered folder of the newest run of any of these names.
 *
 * @throws UserError when there is none
 */
export function latestRunDirectory(parent: string, ...names: readonly string[]): string {
  const latest = names.flatMap((name) => numberedRuns(parent, name).slice(-1))
    .map(({ path }) => ({ path, started: whenStarted(path) }))
    .sort((a, b) => a.started - b.started).at(-1);
  if (latest === undefined) {
    const expected = names.map((name) => `${name}-…`).join(" or ");
    throw new UserError(`${parent} holds no run ${expected}. Name the run's folder with --run.`);
  }
  return latest.path;
}

/** The configuration is written once, when the run begins. */
function whenStarted(path: string): number {
  const { configuration } = RunFolder.at(path);
  return exists(configuration) ? Deno.statSync(configuration).mtime?.getTime() ?? 0 : 0;
}

function numberedRuns(parent: string, name: string): { number: number; path: string }[] {
  if (!exists(parent)) return [];
  return [...Deno.readDirSync(parent)]
    .filter((entry) => entry.isDirectory && entry.name.startsWith(`${name}-`))
    .map((entry) => ({ suffix: entry.name.slice(name.length + 1), path: join(parent, entry.name) }))
    .filter(({ suffix }) => /^\d{3,}$/.test(suffix))
    .map(({ suffix, path }) => ({ number: Number(suffix), path }))
    .sort((a, b) => a.number - b.number);
}
