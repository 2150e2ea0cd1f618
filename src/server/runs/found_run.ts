import { join } from "node:path";
import { parse } from "yaml";
import { isComparison } from "../../run/compare/comparison_session.ts";
import { RunFolder, type RunKind } from "../../run/store/run_folder.ts";

/** A run whose folder was found. */
export interface FoundRun {
  readonly name: string;
  readonly folder: RunFolder;
  readonly kind: RunKind;
  /** Tells it from another run that was or will be in a folder of this name. */
  readonly mark: string;
}

/** The run in a folder of `root`; null when there is none. */
export function findRun(root: string, name: string, known?: FoundRun): FoundRun | null {
  const folder = RunFolder.at(join(root, name));
  let stat: Deno.FileInfo;
  try {
    stat = Deno.statSync(folder.configuration);
  } catch {
    return null; // no folder, no run in it, or none of this user's business
  }
  const mark = `${stat.ino} ${stat.mtime?.getTime()}`;
  if (known?.mark === mark) return known;
  return { name, folder, kind: kindOf(folder), mark };
}

function kindOf(folder: RunFolder): RunKind {
  if (isComparison(folder.path)) return "compare";
  const configuration: unknown = parse(Deno.readTextFileSync(folder.configuration));
  const isSft = typeof configuration === "object" && configuration !== null &&
    "policy" in configuration;
  return isSft ? "sft" : "train";
}
