/** What is asked for when a run is to be started, and the command line that does it. */

import { z } from "@hono/zod-openapi";
import { join } from "node:path";
import { stringify } from "yaml";
import { merged } from "../../base/merged.ts";
import { UserError } from "../../base/user_error.ts";
import { DEFAULT_ARMS, loadArms } from "../../run/compare/arms.ts";
import { DEFAULT_SEEDS, seedsOption, seedsProblem } from "../../run/compare/seeds.ts";
import type { Settings } from "../../run/config/changeable.ts";
import type { TangoConfig } from "../../run/config/config_schema.ts";
import { loadSftConfig, loadTangoConfig } from "../../run/config/load_config.ts";
import {
  placementOf,
  requireShards,
  withSftShards,
  withShards,
} from "../../run/config/placement.ts";
import type { SftConfig } from "../../run/config/sft_config_schema.ts";
import { problemsName } from "../../run/problems/open_problems.ts";
import type { RunKind } from "../../run/store/run_folder.ts";
import { type AllowedFolders, requireAllowedPaths } from "./allowed_paths.ts";
import { type MissingFile, missingFiles } from "./missing_files.ts";
import { DEFAULT_PRESETS, presetConfiguration, presetFile } from "./presets.ts";

/** Of a comparison. */
export const seedsSchema = z.array(z.int().min(0).max(2 ** 32 - 1)).min(1).max(1000);

/**
 * A run that is to be started, or planned.
 *
 * @param presets that the description names; others may come while the server goes on
 */
export const runRequestSchema = (presets: readonly string[]) =>
  z.strictObject({
    kind: z.enum(["train", "sft", "compare"]),
    preset: z.string().max(100).optional().describe(
      "Of /api/presets; left out: that of the command.",
    ).openapi({ enum: [...presets] }),
    configuration: z.record(z.string(), z.unknown()).optional().describe(
      "Keys that are other than the preset's; without preset the whole configuration.",
    ),
    set: z.array(z.string().max(10_000)).max(200).optional().describe(
      "key.path=value each, as --set.",
    ),
    steps: z.int().min(0).max(2 ** 40).optional(),
    ranks: z.int().min(1).max(64).optional(),
    seeds: seedsSchema.optional().describe(
      `Of a comparison: a run of each arm for each of them; left out: ${DEFAULT_SEEDS}.`,
    ),
    requireFiles: z.boolean().optional().describe(
      "Refuses a configuration that names files that are not there; else the run says so when it begins, for one " +
        "before it in the queue may leave them.",
    ),
    gpuIndex: z.int().min(0).max(1023).optional().describe(
      "Which GPU, as ./tango doctor numbers them; left out: the first that has room.",
    ),
  });

/** A run that is to be started, or planned. */
export type RunRequest = z.infer<ReturnType<typeof runRequestSchema>>;

/** What a request comes to. */
export interface PreparedRun {
  readonly kind: RunKind;
  readonly ranks: number;
  /** The GPU that was asked for; null: any with room. */
  readonly gpuIndex: number | null;
  /** Begins the name of its folder unless it is named. */
  readonly name: string;
  /** Where its configuration says that its folder is; null: it does not. */
  readonly place: string | null;
  /** Text of its configuration file. */
  readonly written: string;
  /** Options of the command, without its configuration file and folder. */
  readonly options: readonly string[];
}

/**
 * Checks a request as the command line does.
 *
 * @param scratch a folder for a file that is removed again
 * @param folders that the configuration's paths may lead into
 * @throws UserError as the command line would print it: a line for each problem
 */
export function prepareRun(
  request: RunRequest,
  scratch: string,
  folders: AllowedFolders,
): PreparedRun {
  const { kind, preset, configuration, set = [], steps, ranks = 1, gpuIndex = null } = request;
  const problems = new GatheredProblems();
  problems.of(() => checkRanks(kind, ranks));
  if (gpuIndex !== null && ranks > 1) {
    problems.add(
      "gpuIndex is for a run of one rank: of several, the first takes GPU 0, the second GPU 1, and so on.",
    );
  }
  problems.of(() => checkSeeds(kind, request.seeds));
  const base = preset === undefined && configuration !== undefined
    ? {}
    : presetConfiguration(presetFile(preset ?? DEFAULT_PRESETS[kind]));
  const whole = merged(base, configuration ?? {});
  const written = stringify(whole);
  const overrides = { set, steps };
  const load = (path: string) =>
    kind === "sft" ? loadSftConfig(path, overrides) : loadTangoConfig(path, overrides);
  const config = problems.of(() => loadWritten(scratch, written, load));
  problems.of(() => requireAllowedPaths(config ?? whole, folders));
  if (request.requireFiles) missingFiles(config ?? whole).forEach((one) => problems.miss(one));
  if (config === null || !problems.isEmpty) throw problems.error;
  checkKind(kind, config, ranks);
  return {
    kind,
    ranks,
    gpuIndex,
    name: nameOf(kind, config),
    place: config.run_directory,
    written,
    options: [
      ...set.flatMap((assignment) => ["--set", assignment]),
      ...(steps === undefined ? [] : ["--steps", String(steps)]),
      ...moreOptions(request),
    ],
  };
}

/** A request that cannot be done; its message has a line for each problem. */
export class RunRequestError extends UserError {
  constructor(message: string, readonly missing: readonly MissingFile[]) {
    super(message);
  }
}

/** What is wrong with a request, all at once. */
class GatheredProblems {
  readonly #lines: string[] = [];
  readonly #missing: MissingFile[] = [];

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  get error(): RunRequestError {
    return new RunRequestError(this.#lines.join("\n"), this.#missing);
  }

  /** Something is not there. */
  miss(file: MissingFile): void {
    this.#missing.push(file);
    this.add(file.detail);
  }

  add(message: string): void {
    this.#lines.push(message);
  }

  /** Does it; null when a UserError is thrown, which is added. */
  of<Result>(body: () => Result): Result | null {
    try {
      return body();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      this.add(error.message);
      return null;
    }
  }
}

/** Options that a run may also be gone on with. */
export function moreOptions(
  { ranks = 1, seeds, settings = {} }: Pick<RunRequest, "ranks" | "seeds"> & {
    readonly settings?: Settings;
  },
): string[] {
  return [
    ...(ranks === 1 ? [] : ["--ranks", String(ranks)]),
    ...(seeds === undefined ? [] : ["--seeds", seedsOption(seeds)]),
    ...Object.entries(settings).flatMap(([key, value]) => ["--set", `${key}=${value}`]),
  ];
}

/** @throws UserError as the command line, which knows --seeds in a comparison alone */
export function checkSeeds(kind: RunKind, seeds: readonly number[] | undefined): void {
  if (seeds === undefined) return;
  if (kind !== "compare") {
    throw new UserError(`seeds is for a comparison, and this is kind ${kind}.`);
  }
  const problem = seedsProblem(seeds);
  if (problem !== null) throw new UserError(`seeds is ${seeds.join(",")}. ${problem}`);
}

/** @throws UserError when a comparison is asked for on several ranks */
export function checkRanks(kind: RunKind, ranks: number): void {
  if (kind !== "compare" || ranks === 1) return;
  throw new UserError(`ranks is ${ranks}, and a comparison runs on one GPU; expected 1.`);
}

function loadWritten<Config>(
  scratch: string,
  text: string,
  load: (path: string) => Config,
): Config {
  const path = join(scratch, `${crypto.randomUUID()}.yaml`);
  Deno.writeTextFileSync(path, text);
  try {
    return load(path);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    // It is no file of the user's.
    throw new UserError(error.message.replaceAll(new RegExp(`${path}(:\\d+)*:? ?`, "g"), ""));
  } finally {
    Deno.removeSync(path);
  }
}

function checkKind(kind: RunKind, config: TangoConfig | SftConfig, ranks: number): void {
  if ("policy" in config) {
    return requireShards(withSftShards(config, ranks).reduction.shards, ranks, "the model");
  }
  placementOf(withShards(config, ranks), ranks);
  if (kind === "compare") loadArms(DEFAULT_ARMS, config);
}

function nameOf(kind: RunKind, config: TangoConfig | SftConfig): string {
  const name = problemsName(config);
  if ("policy" in config) return `${name}-${config.policy}-sft`;
  return kind === "compare" ? `${name}-compare` : name;
}
