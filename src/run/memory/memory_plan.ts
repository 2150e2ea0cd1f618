import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import type { Optimizer } from "../../model/decoder/optimizer.ts";
import type { Trainer } from "../../engine/training/trainer.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { Parameters } from "../../model/decoder/parameters.ts";
import { formatBytes } from "../../base/format_bytes.ts";
import { alignedTable } from "../../base/table.ts";

/** A use of GPU memory. */
export interface MemoryUse {
  readonly what: string;
  readonly bytes: number;
}

/** Uses of which only the largest counts. */
export interface MemoryPhase extends MemoryUse {
  /** Uses within the phase that are worth naming. */
  readonly among?: readonly MemoryUse[];
}

/** The most GPU memory that a run takes. */
export interface MemoryPlan {
  /** Uses from the beginning of the run to its end. */
  readonly resident: readonly MemoryUse[];
  /** Uses one after the other, of which the largest counts. */
  readonly phases: readonly MemoryPhase[];
  /** Resident memory and the largest phase. */
  readonly peakBytes: number;
}

/** Memory of the models: weights that lie there once, and what training them adds. */
export function residentUses(
  models: readonly {
    readonly name: string;
    /** Absent where other ranks hold it. */
    readonly model?: Model;
    readonly reference?: Model | null;
    readonly trainer?: { readonly optimizer: Optimizer } | null;
  }[],
): MemoryUse[] {
  const counted = new Set<Parameters>();
  const uses: MemoryUse[] = [];
  const bytesOf = (tensors: Iterable<Tensor>) =>
    [...tensors].reduce((sum, { storage }) => sum + storage.bytes, 0);
  const add = (what: string, tensors: Iterable<Tensor>) => {
    const bytes = bytesOf(tensors);
    if (bytes > 0) uses.push({ what, bytes });
  };
  const addParameters = (what: string, parameters: Parameters, others: readonly Tensor[] = []) => {
    if (counted.has(parameters)) return;
    counted.add(parameters);
    add(what, [...parameters.weights, ...others]);
    add(`${what}: gradients`, parameters.gradients ?? []);
  };
  for (const { name, model, reference, trainer } of models) {
    if (!model) continue;
    addParameters(`weights of the ${name}`, model.parameters, model.rotations.tables);
    if (model.adapter) addParameters(`adapter of the ${name}`, model.adapter.parameters);
    if (trainer) {
      const { moments, masters } = trainer.optimizer.state;
      add(`optimizer moments of the ${name}`, moments);
      add(`f32 masters of the ${name}`, masters);
    }
    if (reference) {
      addParameters(`reference of the ${name}`, reference.parameters, reference.rotations.tables);
      if (reference.adapter) {
        addParameters(`adapter of the ${name}'s reference`, reference.adapter.parameters);
      }
    }
  }
  return uses;
}

/** A phase that can be run on a rehearsal GPU. */
export interface RehearsedPhase {
  readonly what: string;
  readonly run: () => Promise<unknown>;
  readonly among?: readonly MemoryUse[];
}

/** Memory of a trainer's shard sums; none where the batch is one shard. */
export function shardSumUses({ shardSumBytes: bytes, options: { shards } }: Trainer): MemoryUse[] {
  return bytes > 0 ? [{ what: `sums of its batch's ${shards} shards`, bytes }] : [];
}

/** Measures phases on a rehearsal GPU on which the models are. */
export async function rehearsePhases(
  gpu: Gpu,
  resident: readonly MemoryUse[],
  phases: readonly RehearsedPhase[],
): Promise<MemoryPlan> {
  const before = gpu.pool.liveBytes;
  const uses: MemoryPhase[] = [];
  for (const { what, run, among } of phases) {
    gpu.pool.peakBytes = before;
    await run();
    uses.push({ what, bytes: gpu.pool.peakBytes - before, among });
  }
  return {
    resident,
    phases: uses,
    peakBytes: before + Math.max(0, ...uses.map(({ bytes }) => bytes)),
  };
}

/** The plans of a run's ranks for people: of those that hold the same, the one that takes the most. */
export function formatMemoryPlans(plans: readonly MemoryPlan[]): string {
  const held = ({ resident }: MemoryPlan) => resident.map(({ what }) => what).join();
  const alike = [...Map.groupBy(plans.keys(), (rank) => held(plans[rank])).values()];
  return alike.map((ranks) => {
    const most = ranks.reduce((a, b) => plans[b].peakBytes > plans[a].peakBytes ? b : a);
    const plan = formatMemoryPlan(plans[most]);
    if (alike.length === 1) return plan;
    return `${ranks.length === 1 ? "Rank" : "Ranks"} ${ranks.join(", ")}:\n${plan}`;
  }).join("\n\n");
}

/** A plan for people. */
export function formatMemoryPlan({ resident, phases, peakBytes }: MemoryPlan): string {
  const row = ({ what, bytes }: MemoryUse) => [what, formatBytes(bytes)];
  return alignedTable([
    ["GPU memory, at most", formatBytes(peakBytes)],
    ...resident.map(row),
    ...phases.flatMap(({ what, bytes, among = [] }) => [
      row({ what: `while ${what}`, bytes }),
      ...among.map((part) => row({ ...part, what: `  among it ${part.what}` })),
    ]),
  ]);
}
