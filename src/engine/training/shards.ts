import { UserError } from "../../base/user_error.ts";
import type { ShardRange } from "./reducer.ts";

/**
 * The shards that one of several processes computes: neighbours, and as many as any other has, or one less.
 *
 * @throws UserError when some process would be without any
 */
export function ownShards(
  shards: number,
  { rank, size }: { readonly rank: number; readonly size: number },
): ShardRange {
  if (size > shards) {
    throw new UserError(
      `reduction.shards is ${shards} and ${size} ranks train together: each needs a shard of the batch. ` +
        `Set reduction.shards to ${size} or a multiple of it, or start fewer ranks.`,
    );
  }
  return {
    first: Math.floor(rank * shards / size),
    end: Math.floor((rank + 1) * shards / size),
  };
}
