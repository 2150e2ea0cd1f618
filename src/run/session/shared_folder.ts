import { hostname } from "../../platform/system/machine.ts";
import type { Communicator } from "../../distributed/communicator.ts";
import { broadcastOutcome } from "../../distributed/outcomes.ts";
import { gatherValues } from "../../distributed/values.ts";
import { UserError } from "../../base/user_error.ts";
import { RunFolder } from "../store/run_folder.ts";

/**
 * Opens a run's folder, or makes it on the first rank, which alone writes there. To go on with a run, all
 * ranks read from it.
 *
 * @param configuration of a new run; null opens the folder of an earlier one
 * @throws UserError as `RunFolder` does, and naming the ranks that do not see an earlier run's folder
 */
export async function openRunFolder(
  ranks: Communicator,
  path: string,
  configuration: object | null,
): Promise<RunFolder> {
  await broadcastOutcome(ranks, 0, () => {
    if (configuration === null) RunFolder.open(path);
    else RunFolder.create(path, configuration);
    return Promise.resolve();
  });
  const folder = RunFolder.at(path);
  if (configuration === null) await requireSeen(ranks, folder);
  return folder;
}

async function requireSeen(ranks: Communicator, folder: RunFolder): Promise<void> {
  const seen = await gatherValues(ranks, { host: hostname(), isUsed: folder.isUsed });
  const blind = seen.flatMap(({ host, isUsed }, rank) => isUsed ? [] : [`rank ${rank} on ${host}`]);
  if (blind.length === 0) return;
  throw new UserError(
    `${folder.path} is not there for ${
      blind.join(", ")
    }. To continue a run all ranks read its checkpoint: ` +
      `put its folder where all hosts see it, under the same path.`,
  );
}
