/** What a configuration names and is not there, and how to come by it. */

import { join, normalize } from "node:path";
import { exists } from "../../platform/files/atomic_file.ts";
import { isRepositoryId, shortName } from "../../hub/repository.ts";
import { readYamlFile } from "../../run/config/yaml_file.ts";
import type { Remedy } from "../http/problem.ts";
import { namedPaths } from "./allowed_paths.ts";
import { presetFiles } from "./presets.ts";

/** Something that is not there. */
export interface MissingFile {
  readonly field: string;
  readonly detail: string;
  /** Null: nobody knows. */
  readonly remedy: Remedy | null;
}

/** Files and folders that a run by a configuration would read, and that are not there. */
export function missingFiles(configuration: unknown): MissingFile[] {
  const missing = namedPaths(configuration).filter(({ path, isRead }) => isRead && !exists(path));
  if (missing.length === 0) return [];
  const sources = knownSources();
  return missing.map(({ key, path }) => {
    const found = sources.find(({ place }) => `${normalize(path)}/`.startsWith(`${place}/`));
    return {
      field: key,
      detail: `${key} is ${JSON.stringify(path)}, and there is no such file or folder.`,
      remedy: found?.remedy ?? null,
    };
  });
}

interface Source {
  readonly place: string;
  readonly remedy: Remedy;
}

/** What the presets say of where their models and data come from: the commands in their heads, and what they leave. */
function knownSources(): Source[] {
  return presetFiles().flatMap(({ name, file }) => {
    const left = outputOf(file);
    return [
      ...pullsIn(Deno.readTextFileSync(file)),
      ...(left === null ? [] : [{ place: normalize(left), remedy: { preset: name } }]),
    ];
  });
}

function pullsIn(text: string): Source[] {
  return [...text.matchAll(/^#\s+\.\/tango pull (\S+)(.*)$/gm)].flatMap(([, id, options]) => {
    if (!isRepositoryId(id)) return [];
    const kind = / --dataset\b/.test(options) ? "dataset" as const : "model" as const;
    const files = [...options.matchAll(/ --file '?([^'\s]+)'?/g)].map(([, glob]) => glob);
    const [, to = join(kind === "model" ? "models" : "data", shortName({ kind, id }))] =
      / --to (\S+)/.exec(options) ?? [];
    return [{ place: normalize(to), remedy: { pull: { kind, id, files } } }];
  });
}

function outputOf(file: string): string | null {
  const { value } = readYamlFile(file);
  const output = typeof value === "object" && value !== null
    ? Reflect.get(value, "output_directory")
    : null;
  return typeof output === "string" ? output : null;
}
