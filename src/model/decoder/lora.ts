import { UserError } from "../../base/user_error.ts";
import { hasExperts, type ModelConfig } from "./config.ts";
import { type Block, boundElements, layerKey, modulesOf } from "./layout.ts";
import { expertLoraBlocks, expertTargets, loraName, separateExpertTargets } from "./expert_lora.ts";
import { lastName } from "./names.ts";
import type { Parameter, Parameters } from "./parameters.ts";

/** Projections that an adapter may change. */
export const loraTargets = [
  "q_proj",
  "k_proj",
  "v_proj",
  "o_proj",
  "gate_proj",
  "up_proj",
  "down_proj",
] as const;
/** What some families have in the place of these, of one or of several, and which. */
const ownTargets = {
  qkv_proj: ["q_proj", "k_proj", "v_proj"],
  gate_up_proj: ["gate_proj", "up_proj"],
  // LFM2's convolutions stand in the place of attention.
  in_proj: ["q_proj", "k_proj", "v_proj"],
  // So do Qwen3.5's DeltaNets.
  in_proj_qkv: ["q_proj", "k_proj", "v_proj"],
  in_proj_z: ["q_proj", "k_proj", "v_proj"],
  in_proj_b: ["q_proj", "k_proj", "v_proj"],
  in_proj_a: ["q_proj", "k_proj", "v_proj"],
  out_proj: ["o_proj"],
  w1: ["gate_proj"],
  w3: ["up_proj"],
  w2: ["down_proj"],
  ...expertTargets,
} as const satisfies Record<string, readonly (typeof loraTargets)[number][]>;
export type LoraTarget = (typeof loraTargets)[number] | keyof typeof ownTargets;

/** All names, in one order. */
const allTargets: readonly LoraTarget[] = [
  ...loraTargets,
  ...Object.keys(ownTargets) as (keyof typeof ownTargets)[],
];

/** All names of projections that an adapter's file may have, but for those of experts. */
export const loraModules: readonly LoraTarget[] = allTargets.filter((one) =>
  !(one in expertTargets)
);

/** What does in experts what a projection does elsewhere; null of others. */
export const inExperts = (target: LoraTarget): LoraTarget | null =>
  separateExpertTargets.find((one) =>
    partsOf(one).some((part) => part === target || partsOf(target).includes(part))
  ) ?? null;

/** A low-rank adapter (Hu et al. 2021): y = x·Wᵀ + alpha/rank · (x·Aᵀ)·Bᵀ. */
export interface LoraConfig {
  /** r, a multiple of 4 */
  readonly rank: number;
  readonly alpha: number;
  readonly targets: readonly LoraTarget[];
}

/** Projections in one order, so that equal adapters are written alike. */
export function orderTargets(targets: readonly LoraTarget[]): LoraTarget[] {
  return allTargets.filter((target) => targets.includes(target));
}

/**
 * The projections of a model that an adapter changes, by the model's own names: where it has one in the place of
 * others, that one if any of these is asked for, or all of them where some of its layers have these themselves. Those of
 * experts are there beside those of layers without any.
 *
 * @throws UserError naming one that the model does not have, or that experts have with another
 */
export function targetsIn(config: ModelConfig, targets: readonly LoraTarget[]): LoraTarget[] {
  const own = projectionsOf(config);
  const isAsked = (target: LoraTarget) => targets.includes(target);
  const chosen = [...own].filter((target) => {
    const parts = partsOf(target);
    const isBeside = parts.some((part) => own.has(part));
    return targets.includes(target) ||
      (isBeside ? parts.every(isAsked) : parts.some(isAsked));
  });
  const missing = targets.find((target) =>
    !own.has(target) && !chosen.some((one) => partsOf(one).includes(target))
  );
  if (missing !== undefined) {
    throw new UserError(`the model has no ${missing}; its projections are ${[...own].join(", ")}`);
  }
  if (chosen.includes("experts.gate_proj") !== chosen.includes("experts.up_proj")) {
    throw new UserError(
      "gate_proj and up_proj of experts are one tensor for PEFT; name both as targets, or neither",
    );
  }
  return orderTargets(chosen);
}

/** Projections of a model, by its own names. */
function projectionsOf(config: ModelConfig): ReadonlySet<LoraTarget> {
  return new Set([
    ...Array.from({ length: config.layers }, (_, layer) => projectionGroups(config, layer))
      .flat(2).flatMap(({ projections }) => projections.map(({ target }) => target)),
    ...(hasExperts(config) ? separateExpertTargets : []),
  ]);
}

/** All projections of a model that an adapter may change, by the model's own names. */
export const targetsOf = (config: ModelConfig): LoraTarget[] =>
  orderTargets([...projectionsOf(config)]);

const partsOf = (target: LoraTarget): readonly LoraTarget[] =>
  target in ownTargets ? ownTargets[target as keyof typeof ownTargets] : [];

/** The adapters of projections that read the same input and lie in one block. */
export interface LoraGroup {
  /** alpha / rank */
  readonly scale: number;
  readonly rank: number;
  /** [n·r, I]: the rows of each projection's A, one after the other */
  readonly a: Parameter;
  /** [rows, r]: the rows of each projection's B, one after the other, each projection's aligned */
  readonly b: Parameter;
  /** The n projections, in the same order. */
  readonly projections: readonly AdaptedProjection[];
}

/** A projection that an adapter changes, in its group. */
interface AdaptedProjection {
  /** Where its outputs begin in the block's. */
  readonly firstColumn: number;
  /** Its outputs. */
  readonly columns: number;
  /** Where its rows begin in the group's B. */
  readonly firstRow: number;
}

/** The blocks of a layer that an adapter may change. */
const loraBlockKeys = ["qkv", "attentionOutput", "gateUp", "down"] as const;
export type LoraBlockKey = (typeof loraBlockKeys)[number];

interface Projection {
  readonly target: LoraTarget;
  /** Module name within the layer. */
  readonly module: string;
  /** Outputs. */
  readonly rows: number;
}

interface ProjectionGroup {
  readonly key: LoraBlockKey;
  /** Inputs. */
  readonly width: number;
  readonly projections: readonly Projection[];
}

function projectionGroups(config: ModelConfig, layer: number): ProjectionGroup[] {
  const blocks = modulesOf(config, layer);
  return loraBlockKeys.flatMap((key) => {
    const block = blocks[key];
    if (!block) return [];
    const projections = block.modules.map(([module, rows]) => ({
      target: lastName(module) as LoraTarget,
      module,
      rows,
    }));
    return [{ key, width: block.inputs, projections }];
  });
}

const aKey = (layer: number, key: LoraBlockKey) => layerKey(layer, `${key}.A`);
const bKey = (layer: number, key: LoraBlockKey) => layerKey(layer, `${key}.B`);

/** The first row from `row` on of a matrix of `rank` columns that begins where a tensor can be bound. */
function alignedRow(row: number, rank: number): number {
  while (row * rank % boundElements !== 0) row++;
  return row;
}

/** All parameters of an adapter in the order they lie in memory, by PEFT's names, of experts one by one. */
export function loraBlocks(config: ModelConfig, { rank, targets }: LoraConfig): Block[] {
  const blocks: Block[] = [];
  for (let layer = 0; layer < config.layers; layer++) {
    for (const { key, width, projections } of projectionGroups(config, layer)) {
      const chosen = projections.filter(({ target }) => targets.includes(target));
      if (chosen.length === 0) continue;
      blocks.push({
        key: aKey(layer, key),
        shape: [chosen.length * rank, width],
        tensors: chosen.map(({ module }, n) => ({
          name: loraName(layer, module, "A"),
          shape: [rank, width],
          first: 0,
          size: rank * width,
          offset: n * rank * width,
        })),
      });
      let end = 0;
      const tensors = chosen.map(({ module, rows }) => {
        const first = alignedRow(end, rank);
        end = first + rows;
        const range = { first: 0, size: rows * rank, offset: first * rank };
        return { name: loraName(layer, module, "B"), shape: [rows, rank], ...range };
      });
      blocks.push({ key: bKey(layer, key), shape: [end, rank], tensors });
    }
    blocks.push(...expertLoraBlocks(config, { rank, targets }, layer));
  }
  return blocks;
}

/** A layer's adapters by block; blocks without one are left out. */
export function loraGroups(
  config: ModelConfig,
  { rank, alpha, targets }: LoraConfig,
  parameters: Parameters,
  layer: number,
): Partial<Record<LoraBlockKey, LoraGroup>> {
  const groups: Partial<Record<LoraBlockKey, LoraGroup>> = {};
  for (const { key, projections } of projectionGroups(config, layer)) {
    if (!parameters.has(aKey(layer, key))) continue;
    let firstColumn = 0, endRow = 0;
    const adapted: AdaptedProjection[] = [];
    for (const { target, rows: columns } of projections) {
      if (targets.includes(target)) {
        const firstRow = alignedRow(endRow, rank);
        adapted.push({ firstColumn, columns, firstRow });
        endRow = firstRow + columns;
      }
      firstColumn += columns;
    }
    groups[key] = {
      scale: alpha / rank,
      rank,
      a: parameters.get(aKey(layer, key)),
      b: parameters.get(bKey(layer, key)),
      projections: adapted,
    };
  }
  return groups;
}
