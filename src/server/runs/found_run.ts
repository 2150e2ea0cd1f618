import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { exists } from "../../platform/files/atomic_file.ts";
import { isComparison } from "../../run/compare/comparison_folder.ts";
import { RunFolder, type RunKind } from "../../run/store/run_folder.ts";

/** A run whose folder was found. */
export interface FoundRun {
  /** Of its folder; of a run that a comparison does, that one's name and its own: `last-letter-compare-001:tango-seed-0`. */
  readonly name: string;
  /** The comparison that it is a part of; null of any other. */
  readonly comparison: string | null;
  readonly folder: RunFolder;
  readonly kind: RunKind;
  /** As configured; 0 where that depends on something else. */
  readonly totalSteps: number;
  /** When its configuration was written, ISO 8601. */
  readonly beganAt: string;
  /** Tells it from another run that was or will be in a folder of this name. */
  readonly mark: string;
}

/** The run in a folder of `root`; null when there is none. */
export function findRun(root: string, name: string, known?: FoundRun): FoundRun | null {
  const { comparison, path } = placeOf(root, name);
  const folder = RunFolder.at(path);
  let stat: Deno.FileInfo;
  try {
    stat = Deno.statSync(folder.configuration);
  } catch {
    return null; // no folder, no run in it, or none of this user's business
  }
  if (!stat.isFile) return null; // a pipe would be waited for
  // A comparison's configuration is there before what tells that it is one.
  const isCompared = isComparison(path);
  const mark = `${stat.ino} ${stat.mtime?.getTime()}${isCompared ? " compare" : ""}`;
  if (known?.mark === mark) return known;
  const { data: configuration } = configurationSchema.safeParse(
    parse(Deno.readTextFileSync(folder.configuration)),
  );
  const { total_training_steps: steps = 0, epochs = null } = configuration?.schedule ?? {};
  const kind = isCompared ? "compare" : configuration?.policy === undefined ? "train" : "sft";
  const beganAt = (stat.mtime ?? new Date(0)).toISOString();
  const totalSteps = kind === "compare" || epochs !== null ? 0 : steps;
  return { name, comparison, folder, kind, mark, beganAt, totalSteps };
}

/** Names of the runs that a comparison does, as far as they have begun. */
export function comparedRuns({ name, folder }: FoundRun): string[] {
  return [...Deno.readDirSync(folder.path)]
    .filter(({ isDirectory, name: inner }) => isDirectory && isUsed(join(folder.path, inner)))
    .map(({ name: inner }) => `${name}:${inner}`);
}

const isUsed = (path: string) => RunFolder.at(path).isUsed;

function placeOf(
  root: string,
  name: string,
): { readonly comparison: string | null; readonly path: string } {
  const path = join(root, name);
  const [comparison, ...inner] = name.split(":");
  // Folders of the command line may be called anything.
  if (inner.length === 0 || exists(path)) return { comparison: null, path };
  return { comparison, path: join(root, comparison, inner.join(":")) };
}

/** What is looked at of a configuration, whatever version of the program wrote it. */
const configurationSchema = z.object({
  policy: z.unknown().optional(),
  schedule: z.object({
    total_training_steps: z.number().optional(),
    epochs: z.unknown().optional(),
  }).optional(),
});
