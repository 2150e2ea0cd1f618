/** Low-rank adapters on the projections of experts: each expert has its own A and B. */

import { type ExpertsKind, kindOf, type ModelConfig } from "./config.ts";
import { type Block, type ExpertBlockKey, layerKey, type NamedRange } from "./layout.ts";
import { expertModule, expertsInOrder, moduleNames } from "./names.ts";
import type { Parameter, Parameters } from "./parameters.ts";

/**
 * The projections of experts, by what is asked for, whatever a family calls them. Of `experts.gate_up_proj` one A makes
 * the terms of gate and up, which PEFT trains where it is given both as one tensor; nobody gets it by asking for these.
 */
export const expertTargets = {
  "experts.gate_proj": ["gate_proj"],
  "experts.up_proj": ["up_proj"],
  "experts.gate_up_proj": ["gate_proj", "up_proj"],
  "experts.down_proj": ["down_proj"],
} as const;
export type ExpertTarget = keyof typeof expertTargets;

/** Those of a model with experts that are trained by default. */
export const separateExpertTargets = [
  "experts.gate_proj",
  "experts.up_proj",
  "experts.down_proj",
] as const satisfies readonly ExpertTarget[];

/** The adapters of a layer's experts on the projections that read the same input. E experts. */
export interface ExpertLoraGroup {
  /** alpha / rank */
  readonly scale: number;
  readonly rank: number;
  /** n: one, or gate and up each by itself */
  readonly projections: number;
  /** [E·n·r, I]: of each expert the rows of each projection's A */
  readonly a: Parameter;
  /** [E·O, r]: of each expert the rows of each projection's B, as the weights' */
  readonly b: Parameter;
}

/** The blocks of a layer that an adapter on experts may change. */
export type ExpertLoraKey = Extract<ExpertBlockKey, "expertGateUp" | "expertDown">;

interface ExpertProjections {
  readonly key: ExpertLoraKey;
  /** Inputs. */
  readonly width: number;
  /** Of one expert, in the order of their rows. */
  readonly projections: readonly {
    /** Module name as in a block without experts. */
    readonly module: string;
    /** Outputs. */
    readonly rows: number;
  }[];
}

/**
 * @param targets by the names above; others change nothing
 * @throws Error where one of gate and up is there without the other
 */
function expertProjections(
  { hiddenSize: C, architecture }: ModelConfig,
  { innerSize: I }: ExpertsKind,
  targets: readonly string[],
): ExpertProjections[] {
  const { gate, up, down } = moduleNames(architecture);
  const has = (target: ExpertTarget) => targets.includes(target);
  const gateUp = has("experts.gate_up_proj")
    ? [{ module: fusedModule, rows: 2 * I }]
    : has("experts.gate_proj")
    ? [{ module: gate, rows: I }, { module: up, rows: I }]
    : [];
  if (has("experts.gate_proj") !== has("experts.up_proj")) {
    throw new Error("an adapter on one of an expert's gate and up");
  }
  const groups: ExpertProjections[] = [
    { key: "expertGateUp", width: C, projections: gateUp },
    {
      key: "expertDown",
      width: I,
      projections: has("experts.down_proj") ? [{ module: down, rows: C }] : [],
    },
  ];
  return groups.filter(({ projections }) => projections.length > 0);
}

/** What gate and up are called together. */
const fusedModule = "mlp.gate_up_proj";

/** The keys of the blocks in which the matrices of all experts lie. */
export const expertLoraKeys = (layer: number, key: ExpertLoraKey) => ({
  a: layerKey(layer, `${key}.A`),
  b: layerKey(layer, `${key}.B`),
});

/** The name that a part of a layer's adapter has in memory, and in files of experts one by one. */
export const loraName = (layer: number, module: string, matrix: "A" | "B") =>
  `base_model.model.model.layers.${layer}.${module}.lora_${matrix}.weight`;

/** A tensor of an adapter on experts. */
export interface ExpertLoraTensor {
  readonly name: string;
  readonly shape: readonly [number, number];
}

/** The tensors of a layer's adapter on experts: of each matrix those of each expert and projection, in order. */
export interface ExpertLoraMatrices {
  readonly key: ExpertLoraKey;
  readonly A: readonly ExpertLoraTensor[];
  readonly B: readonly ExpertLoraTensor[];
}

/** What an adapter has of a layer's experts; nothing of a layer without any. */
export function expertLoraMatrices(
  config: ModelConfig,
  { rank, targets }: { readonly rank: number; readonly targets: readonly string[] },
  layer: number,
): ExpertLoraMatrices[] {
  const { experts } = kindOf(config, layer);
  if (!experts) return [];
  const names = moduleNames(config.architecture);
  return expertProjections(config, experts, targets).map(({ key, width, projections }) => {
    const each = (
      matrix: "A" | "B",
      shapeOf: (rows: number) => readonly [number, number],
    ): ExpertLoraTensor[] =>
      expertsInOrder(experts).flatMap((expert) =>
        projections.map(({ module, rows }) => ({
          name: loraName(layer, expertModule(names, expert, module), matrix),
          shape: shapeOf(rows),
        }))
      );
    return { key, A: each("A", () => [rank, width]), B: each("B", (rows) => [rows, rank]) };
  });
}

/** The parameters of an adapter on a layer's experts in the order they lie in memory. */
export function expertLoraBlocks(
  config: ModelConfig,
  lora: { readonly rank: number; readonly targets: readonly string[] },
  layer: number,
): Block[] {
  return expertLoraMatrices(config, lora, layer).flatMap(({ key, A, B }) => {
    const keys = expertLoraKeys(layer, key);
    return [stackedBlock(keys.a, A), stackedBlock(keys.b, B)];
  });
}

/** Matrices of one width, one after the other. */
function stackedBlock(key: string, tensors: readonly ExpertLoraTensor[]): Block {
  let rows = 0;
  const ranges = tensors.map(({ name, shape }): NamedRange => {
    const [height, width] = shape;
    const range = { name, shape, first: 0, size: height * width, offset: rows * width };
    rows += height;
    return range;
  });
  return { key, shape: [rows, tensors[0].shape[1]], tensors: ranges };
}

/** The adapters of a layer's experts by block; blocks without one are left out. */
export function expertLoraGroups(
  config: ModelConfig,
  lora: { readonly rank: number; readonly alpha: number; readonly targets: readonly string[] },
  parameters: Parameters,
  layer: number,
): Partial<Record<ExpertLoraKey, ExpertLoraGroup>> {
  const { experts } = kindOf(config, layer);
  if (!experts) return {};
  const { rank, alpha, targets } = lora;
  return Object.fromEntries(
    expertProjections(config, experts, targets).map(({ key, projections }) => {
      const { a, b } = expertLoraKeys(layer, key);
      return [key, {
        ...{ scale: alpha / rank, rank, projections: projections.length },
        ...{ a: parameters.get(a), b: parameters.get(b) },
      }];
    }),
  );
}
