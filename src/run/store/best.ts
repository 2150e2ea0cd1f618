import { readDirSync, readTextFileSync } from "../../platform/system/files.ts";
import { join } from "../../platform/system/paths.ts";
import { exists } from "../../platform/files/atomic_file.ts";
import type { Communicator } from "../../distributed/communicator.ts";
import { broadcastValue } from "../../distributed/values.ts";
import { UserError } from "../../base/user_error.ts";
import { SafetensorsFile } from "../../model/weights/safetensors.ts";

/** The best evaluation of a run so far, by the validation part. */
export interface Best {
  readonly step: number;
  /** The measured value. */
  readonly value: number;
}

/**
 * The better of two evaluations; an equal later one does not count as better.
 *
 * @param higher whether more is better: accuracy is, loss is not
 */
export function betterOf(best: Best | null, found: Best, higher: boolean): Best {
  if (best === null) return found;
  return (higher ? found.value > best.value : found.value < best.value) ? found : best;
}

/**
 * Damage to a folder of best weights, in words; null when its files are there in full length and can be read.
 */
function findBestDamage(path: string): string | null {
  if (!exists(path)) return `${path} is gone`;
  const names = [...readDirSync(path)].map(({ name }) => name);
  if (!names.some((name) => name.endsWith(".safetensors"))) return `${path} has no weights`;
  for (const name of names) {
    const file = join(path, name);
    try {
      if (name.endsWith(".safetensors")) SafetensorsFile.open(file)[Symbol.dispose]();
      if (name.endsWith(".json")) JSON.parse(readTextFileSync(file));
    } catch (error) {
      if (!(error instanceof UserError || error instanceof SyntaxError)) throw error;
      return `${file} is damaged`;
    }
  }
  return null;
}

/**
 * A warning when best weights that a checkpoint knows of are lost; null when they are there. All ranks call it, and
 * the first one looks.
 *
 * @param best what the checkpoint says; null: there are none
 */
export async function findLostBest(
  ranks: Communicator,
  best: Best | null,
  folders: readonly string[],
): Promise<string | null> {
  if (best === null) return null;
  const damage = ranks.rank === 0 ? folders.flatMap((path) => findBestDamage(path) ?? []) : [];
  const message = damage.length === 0
    ? null
    : `${
      damage.join(", ")
    }: the best weights, of step ${best.step}, are lost. The best evaluation from here on takes ` +
      `their place.`;
  return await broadcastValue(ranks, message);
}
