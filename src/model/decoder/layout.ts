import { bytesOf, type MatrixType } from "../../gpu/tensor.ts";
import { UserError } from "../../base/user_error.ts";
import { vocabularyBlock } from "../../kernels/losses/log_softmax.ts";
import { deltaWidths } from "../../kernels/delta/delta_shape.ts";
import { attends, type ExpertsKind, kindOf, type ModelConfig } from "./config.ts";
import {
  convolutionNames,
  deltaNames,
  expertModule,
  expertsInOrder,
  moduleNames,
} from "./names.ts";

/** A tensor as Hugging Face names it, or some rows of one, and where they lie in a block. */
export interface NamedRange {
  readonly name: string;
  /** Shape of the whole tensor. */
  readonly shape: readonly number[];
  /** The first element in the tensor; not 0 for the later tiles of a large one. */
  readonly first: number;
  /** Elements in the block. */
  readonly size: number;
  /** Elements from the start of the block. */
  readonly offset: number;
}

/** A run of parameters that one kernel reads as one matrix: query, key and value together, say. */
export interface Block {
  readonly key: string;
  readonly shape: readonly number[];
  /** Tensors of the block, or tiles of one, in order. */
  readonly tensors: readonly NamedRange[];
  /** No update changes it, not even the decay of weights. */
  readonly isFixed?: boolean;
}

/** Elements of a tensor. */
export const sizeOf = (shape: readonly number[]) => shape.reduce((product, n) => product * n, 1);

function block(key: string, tensors: readonly (readonly [string, readonly number[]])[]): Block {
  let offset = 0;
  const ranges = tensors.map(([name, shape]) => {
    const range = { name, shape, first: 0, size: sizeOf(shape), offset };
    offset += range.size;
    return range;
  });
  const [, first] = tensors[0];
  const rows = tensors.reduce((sum, [, shape]) => sum + shape[0], 0);
  return { key, shape: [rows, ...first.slice(1)], tensors: ranges };
}

/** A block of one tensor that is no matrix, whatever its shape: it is always f32. */
function vector(key: string, name: string, shape: readonly number[]): Block {
  const size = sizeOf(shape);
  return { key, shape: [size], tensors: [{ name, shape, first: 0, size, offset: 0 }] };
}

/** The key of tile `index` of a table. */
export const tileKey = (key: string, index: number) => `${key}.${index}`;

/**
 * A table over the vocabulary, cut so that each tile can be bound. Tiles begin where the vocabulary
 * kernels may begin a chunk, so that the cut does not show in any result.
 *
 * @throws UserError when the device binds not even the smallest tile
 */
function tableTiles(
  key: string,
  name: string,
  [rows, width]: readonly [number, number],
  most: (tensor: string) => number,
): Block[] {
  const fitting = Math.floor(most(name) / width);
  const each = fitting >= rows ? rows : Math.floor(fitting / vocabularyBlock) * vocabularyBlock;
  if (each === 0) {
    throw new UserError(
      `${name}: rows of ${width} elements are too wide for this device, which binds ${
        most(name)
      } at once`,
    );
  }
  return Array.from({ length: Math.ceil(rows / each) }, (_, index) => {
    const count = Math.min(each, rows - index * each);
    const tile = { name, shape: [rows, width], first: index * each * width, size: count * width };
    return { key: tileKey(key, index), shape: [count, width], tensors: [{ ...tile, offset: 0 }] };
  });
}

/** Keys of the blocks of layer `i`. */
export const layerKey = (layer: number, key: string) => `layers.${layer}.${key}`;

/** The layer whose block has this key; null of a block outside the layers. */
export function layerOf(key: string): number | null {
  const found = /^layers\.(\d+)\./.exec(key);
  return found && Number(found[1]);
}

/** The key of a projection's bias. */
export const biasKey = (key: string) => `${key}Bias`;

/** Projections of a layer that read the same input: [module, outputs] of each, which lie side by side. */
export interface JoinedModules {
  readonly inputs: number;
  readonly modules: [string, number][];
}

/**
 * The projections of a layer by the block in which they lie. A convolution's and a DeltaNet's stand in the places of
 * attention's. A layer
 * with experts has neither gate and up nor down of its own: see `expertBlocks`.
 */
export interface LayerModules {
  readonly qkv: JoinedModules;
  readonly attentionOutput: JoinedModules;
  readonly gateUp?: JoinedModules;
  readonly down?: JoinedModules;
}

/** The projections of layer `layer`. */
export function modulesOf(config: ModelConfig, layer: number): LayerModules {
  const { hiddenSize: C, intermediateSize: I, heads: H, kvHeads: KV, headDim: D } = config;
  const names = moduleNames(config.architecture);
  const isFused = config.fusedProjections;
  const { taps, delta, gated, experts } = kindOf(config, layer);
  const feedForward: Pick<LayerModules, "gateUp" | "down"> = experts ? {} : {
    gateUp: {
      inputs: C,
      modules: isFused ? [["mlp.gate_up_proj", 2 * I]] : [[names.gate, I], [names.up, I]],
    },
    down: { inputs: I, modules: [[names.down, C]] },
  };
  if (taps !== undefined) {
    const { inputs, output } = convolutionNames;
    return {
      qkv: { inputs: C, modules: [[inputs, 3 * C]] },
      attentionOutput: { inputs: C, modules: [[output, C]] },
      ...feedForward,
    };
  }
  if (delta) {
    const { inputs, gates, strengths, steps, output } = deltaNames;
    const widths = deltaWidths(delta);
    return {
      qkv: {
        inputs: C,
        modules: [
          [inputs, widths.inputs],
          [gates, widths.values],
          [strengths, delta.valueHeads],
          [steps, delta.valueHeads],
        ],
      },
      attentionOutput: { inputs: widths.values, modules: [[output, C]] },
      ...feedForward,
    };
  }
  const queries = gated ? 2 * H * D : H * D;
  return {
    qkv: {
      inputs: C,
      modules: isFused
        ? [["self_attn.qkv_proj", (H + 2 * KV) * D]]
        : [[names.queries, queries], [names.keys, KV * D], [names.values, KV * D]],
    },
    attentionOutput: { inputs: H * D, modules: [[names.attentionOutput, C]] },
    ...feedForward,
  };
}

/** Tensors of a layer by name, and their shapes. */
type NamedShapes = [string, number[]][];

/** The blocks of a layer's router and experts: the matrices of all experts lie one after the other. */
function expertBlocks(
  { hiddenSize: C, architecture }: ModelConfig,
  { count, innerSize: I, shared }: ExpertsKind,
): Record<Exclude<ExpertBlockKey, "expertBias">, NamedShapes> {
  const names = moduleNames(architecture);
  const each = (modules: readonly (readonly [string, number[]])[]): NamedShapes =>
    expertsInOrder({ count, shared }).flatMap((expert) =>
      modules.map(([module, shape]): [string, number[]] => [
        `${expertModule(names, expert, module)}.weight`,
        shape,
      ])
    );
  const router: NamedShapes = [[`${names.router}.weight`, [count, C]]];
  if (shared) router.push([`${names.sharedGate}.weight`, [1, C]]);
  return {
    router,
    expertGateUp: each([[names.gate, [I, C]], [names.up, [I, C]]]),
    expertDown: each([[names.down, [C, I]]]),
  };
}

/** The blocks of a layer that has experts. */
export type ExpertBlockKey = "router" | "expertBias" | "expertGateUp" | "expertDown";

/**
 * All parameters of a model in the order they lie in memory. Projections that read the same input
 * share a block, so that one product makes their outputs.
 *
 * @param most elements of a tensor that the device binds at once; the tables over the vocabulary are cut to it
 */
export function parameterBlocks(
  config: ModelConfig,
  most: (tensor: string) => number = () => Infinity,
): Block[] {
  const { hiddenSize: C, headDim: D, heads, kvHeads, biases } = config;
  const names = moduleNames(config.architecture);
  const table = [config.vocabularySize, C] as const;
  const blocks = tableTiles("embedding", "model.embed_tokens.weight", table, most);
  for (let layer = 0; layer < config.layers; layer++) {
    const kind = kindOf(config, layer);
    const { taps, delta, experts } = kind;
    const layerModules = modulesOf(config, layer);
    const name = (rest: string) => `model.layers.${layer}.${rest}`;
    const add = (key: string, tensors: NamedShapes) =>
      blocks.push(block(layerKey(layer, key), tensors.map(([rest, shape]) => [name(rest), shape])));
    add("inputNorm", [[`${names.inputNorm}.weight`, [C]]]);
    const linear = (key: keyof LayerModules, hasBias: boolean) => {
      const joined = layerModules[key];
      if (!joined) return;
      const { inputs, modules } = joined;
      add(key, modules.map(([module, rows]) => [`${module}.weight`, [rows, inputs]]));
      if (!hasBias) return;
      add(biasKey(key), modules.map(([module, rows]) => [`${module}.bias`, [rows]]));
    };
    linear("qkv", attends(kind) && biases.qkv);
    if (taps !== undefined) {
      const weight = name(`${convolutionNames.weight}.weight`);
      blocks.push(vector(layerKey(layer, "convolution"), weight, [C, 1, taps]));
    } else if (delta) {
      const weight = name(`${deltaNames.convolution}.weight`);
      const shape = [deltaWidths(delta).inputs, 1, delta.taps];
      blocks.push(vector(layerKey(layer, "convolution"), weight, shape));
      add("decayLogs", [[deltaNames.decayLogs, [delta.valueHeads]]]);
      add("stepBiases", [[deltaNames.stepBiases, [delta.valueHeads]]]);
      add("deltaNorm", [[`${deltaNames.norm}.weight`, [delta.valueDim]]]);
    } else if (config.qkNorm) {
      const [Q, K] = config.qkNorm === "whole" ? [heads * D, kvHeads * D] : [D, D];
      add("queryNorm", [[`${names.queryNorm}.weight`, [Q]]]);
      add("keyNorm", [[`${names.keyNorm}.weight`, [K]]]);
    }
    linear("attentionOutput", attends(kind) && biases.attentionOutput);
    const { after } = config.norms;
    if (after) add("attentionNorm", [["post_attention_layernorm.weight", [C]]]);
    add("postNorm", [[`${names.postNorm}.weight`, [C]]]);
    linear("gateUp", biases.feedForward);
    linear("down", biases.feedForward);
    if (experts) {
      for (const [key, tensors] of Object.entries(expertBlocks(config, experts))) add(key, tensors);
      if (experts.biased) {
        const bias = vector(layerKey(layer, "expertBias"), name(names.expertBias), [experts.count]);
        blocks.push({ ...bias, isFixed: true });
      }
    }
    if (after) add("feedForwardNorm", [["post_feedforward_layernorm.weight", [C]]]);
  }
  blocks.push(block("finalNorm", [[`${names.finalNorm}.weight`, [C]]]));
  if (!config.tiedEmbeddings) {
    blocks.push(...tableTiles("head", "lm_head.weight", table, most));
  }
  return blocks;
}

/**
 * How a model's matrices lie in memory, all or each tensor's; those of one block lie alike. Vectors (norms and biases)
 * are always f32.
 */
export type WeightStorage = MatrixType | ((tensor: string) => MatrixType);

/** How a matrix lies in memory. */
export function storageOfTensor(storage: WeightStorage, tensor: string): MatrixType {
  return typeof storage === "function" ? storage(tensor) : storage;
}

/** Place of a block: its segment, and its first element there. */
export interface SegmentPlace {
  readonly block: Block;
  readonly segment: number;
  readonly offset: number;
}

/** A flat run of elements of one type. */
export interface Segment {
  size: number;
  readonly dtype: MatrixType;
}

/** Blocks begin on 256 bytes, so that each can be bound on its own. */
const alignmentBits = 256 * 8;

/** Where within an f32 block something begins that can be bound on its own: on multiples of so many elements. */
export const boundElements = alignmentBits / 32;

/** The fewest elements that take a multiple of these bytes. */
function alignmentOf(dtype: MatrixType): number {
  const bits = 8 * bytesOf(dtype);
  // The largest power of two that divides the bits of an element.
  return alignmentBits / (bits & -bits);
}

/** How many elements a segment may have: as many as it has room for, and as kernels can count in 32 bits. */
export function mostElements(segmentBytes: number, dtype: MatrixType): number {
  return Math.min(2 ** 32, Math.floor(segmentBytes / bytesOf(dtype)));
}

/**
 * Packs blocks into as few flat segments as the device's largest binding allows.
 *
 * @param segmentBytes the most bytes a segment may have
 * @throws UserError when one block alone is larger
 */
export function placeBlocks(
  blocks: readonly Block[],
  segmentBytes: number,
  storage: WeightStorage = "f32",
): { placements: SegmentPlace[]; segments: Segment[] } {
  const placements: SegmentPlace[] = [];
  const segments: Segment[] = [];
  const open = new Map<MatrixType, number>();
  for (const block of blocks) {
    const dtype = block.shape.length > 1 ? storageOfTensor(storage, block.tensors[0].name) : "f32";
    const alignment = alignmentOf(dtype);
    const size = Math.ceil(sizeOf(block.shape) / alignment) * alignment;
    const most = mostElements(segmentBytes, dtype);
    if (size > most) {
      throw new UserError(
        `The model's ${block.key} has ${size} elements; this device binds ${most} of ${dtype} at once`,
      );
    }
    let segment = open.get(dtype) ?? -1;
    if (segment < 0 || segments[segment].size + size > most) {
      segment = segments.push({ size: 0, dtype }) - 1;
      open.set(dtype, segment);
    }
    placements.push({ block, segment, offset: segments[segment].size });
    segments[segment].size += size;
  }
  return { placements, segments };
}
