/** Configurations that come with the program. */

import { join } from "node:path";
import { z } from "zod";
import { UserError } from "../../base/user_error.ts";
import { exists } from "../../platform/files/atomic_file.ts";
import { readYamlFile } from "../../run/config/yaml_file.ts";
import type { RunKind } from "../../run/store/run_folder.ts";

/** Their folder, in which reward modules may lie too. */
export const PRESETS = "configs";

/** A configuration that a run can start from. */
export const presetSchema = z.object({
  name: z.string(),
  kind: z.enum(["train", "sft"]),
  description: z.string(),
  configuration: z.record(z.string(), z.unknown()),
});
export type Preset = z.infer<typeof presetSchema>;

/** Why a preset is left out, by its file: said when that is new. */
const said = new Map<string, string>();

/** What runs are started from when nothing else is said. */
export const DEFAULT_PRESETS: Readonly<Record<RunKind, string>> = {
  train: "chains",
  sft: "last-letter-generator-sft",
  compare: "chains",
};

/** All presets by name, the default ones first; a broken one is left out, which is said on standard error. */
export function listPresets(folder = PRESETS): Preset[] {
  return presetFiles(folder).flatMap(({ name, file }) => readPreset(file, name) ?? []).sort((
    a,
    b,
  ) => rankOf(a.name) - rankOf(b.name) || (a.name < b.name ? -1 : 1));
}

/** Their files, sound or not, by name. */
export function presetFiles(
  folder = PRESETS,
): { readonly name: string; readonly file: string }[] {
  if (!exists(folder)) return [];
  return [...Deno.readDirSync(folder)]
    .filter(({ name, isFile }) => isFile && name.endsWith(".yaml"))
    .map(({ name }) => ({ name: name.slice(0, -".yaml".length), file: join(folder, name) }))
    .sort((a, b) => a.name < b.name ? -1 : 1);
}

const rankOf = (name: string) => Object.values(DEFAULT_PRESETS).includes(name) ? 0 : 1;

function readPreset(file: string, name: string): Preset | null {
  try {
    const preset = parsePreset(file, name);
    said.delete(file);
    return preset;
  } catch (error) {
    const { message } = error as Error;
    if (said.get(file) !== message) console.error(`The preset ${name} is left out. ${message}`);
    said.set(file, message);
    return null;
  }
}

function parsePreset(file: string, name: string): Preset {
  const configuration = presetConfiguration(file);
  const text = Deno.readTextFileSync(file);
  const comment = /^(?:#.*\n)*/.exec(text)?.[0] ?? "";
  const lines = comment.split("\n").map((line) => line.replace(/^# ?/, ""));
  // Commands that are indented in the comment are for a terminal.
  const description = lines.filter((line) => !line.startsWith("  ")).join(" ").trim();
  return { name, kind: "policy" in configuration ? "sft" : "train", description, configuration };
}

/**
 * The keys of a preset's file but for the folder that its weights go to: that is for those who make the weights that
 * come with the program, and a run of the server has its own.
 *
 * @throws UserError when it holds none
 */
export function presetConfiguration(file: string): Record<string, unknown> {
  const { value } = readYamlFile(file);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new UserError(`${file} holds no keys with values.`);
  }
  const { output_directory: _, ...configuration } = value as Record<string, unknown>;
  return configuration;
}

/**
 * A preset's file.
 *
 * @throws UserError when there is none of that name
 */
export function presetFile(name: string): string {
  const file = join(PRESETS, `${name}.yaml`);
  if (/^[\w.-]+$/.test(name) && exists(file)) return file;
  throw new UserError(
    `preset is ${JSON.stringify(name)}; expected one of ${
      listPresets().map(({ name }) => name).join(", ")
    }.`,
  );
}
