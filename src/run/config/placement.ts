/** Which ranks hold which policy. */

import { z } from "zod";
import { UserError } from "../../base/user_error.ts";
import { section } from "./schema_fields.ts";
import { MOST_SHARDS } from "./shared_schema.ts";

const RANKS = 'ranks such as "0-1" or "0,2"';

// YAML reads a single rank as a number.
const ranksSchema = (policy: string) =>
  z.union(
    [z.string().regex(/^\d+(-\d+)?(,\d+(-\d+)?)*$/, RANKS), z.int(RANKS).min(0, RANKS)],
    RANKS,
  )
    .describe(`Ranks that hold the ${policy}, such as "0-1" or "0,2".`);

/** Ranks of each policy; null lets every rank hold both. */
export const placementSchema = section({
  generator: ranksSchema("generator"),
  verifier: ranksSchema("verifier"),
}).nullable().default(null);

/** Ranks that hold each policy, ascending. */
export interface Placement {
  readonly generator: readonly number[];
  readonly verifier: readonly number[];
}

/** The configuration that a placement depends on. */
export interface PlacedConfig {
  readonly placement: z.output<typeof placementSchema>;
  readonly reduction: { readonly shards: number };
  readonly rollout: {
    readonly batch_size: number;
    readonly group_size: number;
    readonly critiques: number | null;
  };
  readonly loss: { readonly mini_batches: number; readonly share_prompts: boolean };
  readonly generator: { readonly trained: boolean };
  readonly verifier: { readonly trained: boolean } | null;
}

/**
 * The ranks that hold each policy.
 *
 * @param size number of ranks
 * @throws UserError when the ranks are not there, or do not fit together
 */
export function placementOf(config: PlacedConfig, size: number): Placement {
  const { reduction, generator, verifier } = config;
  const placed = place(config, size);
  if (generator.trained) requireShards(reduction.shards, placed.generator.length, "the generator");
  if (verifier?.trained) requireShards(reduction.shards, placed.verifier.length, "the verifier");
  return placed;
}

/**
 * The configuration of a run that begins on several ranks: where it asks for no shards, one for each rank that
 * trains the same model.
 *
 * @param size number of ranks
 * @throws UserError as `placementOf` does
 */
export function withShards<Config extends PlacedConfig>(config: Config, size: number): Config {
  const { rollout, loss, generator: solver, verifier: judge } = config;
  const { batch_size, group_size, critiques } = rollout;
  const { generator, verifier } = place(config, size);
  const problems = Math.max(1, Math.floor(batch_size / loss.mini_batches));
  // Solutions to a problem stay together where they share its prompt, critiques where they share a solution.
  const solutions = problems * group_size;
  if (solver.trained) {
    const groups = loss.share_prompts ? problems : solutions;
    requireWork(config, "the generator", generator.length, groups);
  }
  if (judge?.trained) {
    requireWork(config, "the verifier", verifier.length, problems * (critiques ?? group_size));
  }
  const training = [...(solver.trained ? [generator] : []), ...(judge?.trained ? [verifier] : [])];
  return inShards(config, Math.max(...training.map(({ length }) => length)));
}

/** As `withShards`, for a fine-tuning. */
export function withSftShards<Config extends Pick<PlacedConfig, "reduction">>(
  config: Config & { readonly batch_size: number },
  size: number,
): Config & { readonly batch_size: number } {
  requireWork(config, "the model", size, config.batch_size);
  return inShards(config, size);
}

/**
 * Checks that no shard is always empty, where their number was not asked for.
 *
 * @param divisible prompts or responses that an update can be cut between
 * @throws UserError when there are more ranks than those
 */
function requireWork(
  { reduction }: Pick<PlacedConfig, "reduction">,
  model: string,
  ranks: number,
  divisible: number,
): void {
  const most = Math.min(divisible, MOST_SHARDS);
  if (reduction.shards > 1 || ranks <= most) return;
  throw new UserError(
    `${ranks} ranks train ${model} and an update can be cut into ${most} shards, so that some would have nothing to ` +
      `do. Start at most ${most} for it${ranks > MOST_SHARDS ? "" : ", or take larger batches"}.`,
  );
}

/** A configuration that asks for no shards, with one for each of the ranks that train a model. */
export function inShards<Config extends Pick<PlacedConfig, "reduction">>(
  config: Config,
  ranks: number,
): Config {
  const { reduction } = config;
  return reduction.shards > 1 ? config : { ...config, reduction: { ...reduction, shards: ranks } };
}

function place({ placement, verifier }: PlacedConfig, size: number): Placement {
  const all = Array.from({ length: size }, (_, rank) => rank);
  const placed = placement === null ? { generator: all, verifier: all } : {
    generator: parseRanks("generator", placement.generator, size),
    verifier: parseRanks("verifier", placement.verifier, size),
  };
  const shared = placed.generator.filter((rank) => placed.verifier.includes(rank));
  if (shared.length > 0 && placed.generator.join() !== placed.verifier.join()) {
    throw new UserError(
      `placement: rank ${
        shared[0]
      } is named for both policies and others are not; name the same ranks for ` +
        `both, or none twice.`,
    );
  }
  const idle = all.filter((rank) => ![...placed.generator, ...placed.verifier].includes(rank));
  if (verifier === null && placement !== null && placed.generator.length < size) {
    throw new UserError("placement: there is no verifier to place; leave placement out.");
  }
  if (idle.length > 0) {
    throw new UserError(
      `placement: of ${size} ranks, ${
        idle.join(", ")
      } would hold nothing; give each a policy, or start fewer.`,
    );
  }
  return placed;
}

/**
 * Checks that each rank that trains a model has a shard of a batch to compute.
 *
 * @throws UserError when it has not
 */
export function requireShards(shards: number, ranks: number, model: string): void {
  if (ranks <= shards) return;
  throw new UserError(
    `reduction.shards: ${ranks} ranks train ${model} and a batch has ${
      shards === 1 ? "1 shard" : `${shards} shards`
    }, fewer than ranks. Start at most ${shards === 1 ? "1 rank" : `${shards} ranks`} for it` +
      (ranks > MOST_SHARDS
        ? `; no run has more than ${MOST_SHARDS} shards.`
        : `, or a new run with --set reduction.shards=${ranks}, or more; the same number gives the same bits on fewer ` +
          `ranks.`),
  );
}

function parseRanks(policy: string, named: string | number, size: number): number[] {
  const text = String(named);
  const ranks = text.split(",").flatMap((part) => {
    const [first, last = first] = part.split("-").map(Number);
    // Seen before the list is made, which may be of any length.
    if (last >= size) throw noRank(policy, Math.max(first, size), size);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
  });
  const sorted = [...new Set(ranks)].sort((a, b) => a - b);
  if (sorted.length === 0 || sorted.length < ranks.length) {
    throw new UserError(`placement.${policy}: expected ${RANKS}, each once; found "${text}".`);
  }
  return sorted;
}

function noRank(policy: string, missing: number, size: number): UserError {
  return new UserError(
    `placement.${policy}: there is no rank ${missing}; there are ${size}, counted from 0. Start more with ` +
      `--ranks, name others, or let every rank hold both: --set placement=null (--resume takes it too).`,
  );
}
