import { join } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { isComparison } from "../../run/compare/comparison_session.ts";
import { RunFolder, type RunKind } from "../../run/store/run_folder.ts";

/** A run whose folder was found. */
export interface FoundRun {
  readonly name: string;
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
  const folder = RunFolder.at(join(root, name));
  let stat: Deno.FileInfo;
  try {
    stat = Deno.statSync(folder.configuration);
  } catch {
    return null; // no folder, no run in it, or none of this user's business
  }
  const mark = `${stat.ino} ${stat.mtime?.getTime()}`;
  if (known?.mark === mark) return known;
  const { data: configuration } = configurationSchema.safeParse(
    parse(Deno.readTextFileSync(folder.configuration)),
  );
  const { total_training_steps: steps = 0, epochs = null } = configuration?.schedule ?? {};
  const kind = isComparison(folder.path)
    ? "compare"
    : configuration?.policy === undefined
    ? "train"
    : "sft";
  const beganAt = (stat.mtime ?? new Date(0)).toISOString();
  return { name, folder, kind, mark, beganAt, totalSteps: epochs === null ? steps : 0 };
}

/** What is looked at of a configuration, whatever version of the program wrote it. */
const configurationSchema = z.object({
  policy: z.unknown().optional(),
  schedule: z.object({
    total_training_steps: z.number().optional(),
    epochs: z.unknown().optional(),
  }).optional(),
});
