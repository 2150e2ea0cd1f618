/** Configurations that come with the program. */

import { join } from "node:path";
import { parse } from "yaml";
import { UserError } from "../../base/user_error.ts";
import { exists } from "../../base/atomic_file.ts";

const FOLDER = "configs";

/** A configuration that a run can start from. */
export interface Preset {
  readonly name: string;
  readonly kind: "train" | "sft";
  readonly description: string;
  readonly configuration: Record<string, unknown>;
}

/** All presets by name. */
export function listPresets(): Preset[] {
  if (!exists(FOLDER)) return [];
  return [...Deno.readDirSync(FOLDER)]
    .filter(({ name, isFile }) => isFile && name.endsWith(".yaml"))
    .map(({ name }) => readPreset(name.slice(0, -".yaml".length)))
    .sort((a, b) => a.name < b.name ? -1 : 1);
}

function readPreset(name: string): Preset {
  const text = Deno.readTextFileSync(join(FOLDER, `${name}.yaml`));
  const configuration = parse(text) as Record<string, unknown>;
  const comment = /^(?:#.*\n)*/.exec(text)?.[0] ?? "";
  const lines = comment.split("\n").map((line) => line.replace(/^# ?/, ""));
  // Commands that are indented in the comment are for a terminal.
  const description = lines.filter((line) => !line.startsWith("  ")).join(" ").trim();
  return { name, kind: "policy" in configuration ? "sft" : "train", description, configuration };
}

/**
 * A preset's file.
 *
 * @throws UserError when there is none of that name
 */
export function presetFile(name: string): string {
  const file = join(FOLDER, `${name}.yaml`);
  if (/^[\w.-]+$/.test(name) && exists(file)) return file;
  throw new UserError(
    `preset is ${JSON.stringify(name)}; expected one of ${
      listPresets().map(({ name }) => name).join(", ")
    }.`,
  );
}
