import type { ModelConfig } from "./config.ts";

/** A tensor as Hugging Face names it, and where it lies in a block. */
export interface NamedRange {
  readonly name: string;
  readonly shape: readonly number[];
  /** Elements from the start of the block. */
  readonly offset: number;
}

/** A run of parameters that one kernel reads as one matrix: query, key and value together, say. */
export interface Block {
  readonly key: string;
  readonly shape: readonly number[];
  readonly parts: readonly NamedRange[];
}

const sizeOf = (shape: readonly number[]) => shape.reduce((product, n) => product * n, 1);

function block(key: string, parts: readonly (readonly [string, readonly number[]])[]): Block {
  let offset = 0;
  const ranges = parts.map(([name, shape]) => {
    const range = { name, shape, offset };
    offset += sizeOf(shape);
    return range;
  });
  const [, first] = parts[0];
  const rows = parts.reduce((sum, [, shape]) => sum + shape[0], 0);
  return { key, shape: [rows, ...first.slice(1)], parts: ranges };
}

/** Keys of the blocks of layer `i`. */
export const layerKey = (layer: number, key: string) => `layers.${layer}.${key}`;

/**
 * All parameters of a model in the order they lie in memory. Projections that read the same input
 * share a block, so that one product makes their outputs.
 */
export function parameterBlocks(config: ModelConfig): Block[] {
  const { hiddenSize: C, intermediateSize: I, heads: H, kvHeads: KV, headDim: D } = config;
  const blocks = [block("embedding", [["model.embed_tokens.weight", [config.vocabularySize, C]]])];
  for (let layer = 0; layer < config.layers; layer++) {
    const name = (rest: string) => `model.layers.${layer}.${rest}`;
    const add = (key: string, parts: [string, number[]][]) =>
      blocks.push(block(layerKey(layer, key), parts.map(([rest, shape]) => [name(rest), shape])));
    add("inputNorm", [["input_layernorm.weight", [C]]]);
    add("qkv", [
      ["self_attn.q_proj.weight", [H * D, C]],
      ["self_attn.k_proj.weight", [KV * D, C]],
      ["self_attn.v_proj.weight", [KV * D, C]],
    ]);
    if (config.qkvBias) {
      add("qkvBias", [
        ["self_attn.q_proj.bias", [H * D]],
        ["self_attn.k_proj.bias", [KV * D]],
        ["self_attn.v_proj.bias", [KV * D]],
      ]);
    }
    if (config.qkNorm) {
      add("queryNorm", [["self_attn.q_norm.weight", [D]]]);
      add("keyNorm", [["self_attn.k_norm.weight", [D]]]);
    }
    add("attentionOutput", [["self_attn.o_proj.weight", [C, H * D]]]);
    add("postNorm", [["post_attention_layernorm.weight", [C]]]);
    add("gateUp", [["mlp.gate_proj.weight", [I, C]], ["mlp.up_proj.weight", [I, C]]]);
    add("down", [["mlp.down_proj.weight", [C, I]]]);
  }
  blocks.push(block("finalNorm", [["model.norm.weight", [C]]]));
  if (!config.tiedEmbeddings) {
    blocks.push(block("head", [["lm_head.weight", [config.vocabularySize, C]]]));
  }
  return blocks;
}

/** Where a block lies: which segment, and at which element of it. */
export interface Placement {
  readonly block: Block;
  readonly segment: number;
  readonly offset: number;
}

/** Blocks begin on 256 bytes, so that each can be bound on its own. */
const alignment = 64;

/**
 * Packs blocks into as few flat segments as the device's largest binding allows.
 *
 * @param segmentElements the most elements a segment may have
 * @throws Error when one block alone is larger
 */
export function placeBlocks(
  blocks: readonly Block[],
  segmentElements: number,
): { placements: Placement[]; segmentSizes: number[] } {
  const placements: Placement[] = [];
  const segmentSizes = [0];
  for (const block of blocks) {
    const size = Math.ceil(sizeOf(block.shape) / alignment) * alignment;
    if (size > segmentElements) {
      throw new Error(`${block.key} has ${size} elements; this device binds ${segmentElements}`);
    }
    if (segmentSizes[segmentSizes.length - 1] + size > segmentElements) segmentSizes.push(0);
    const segment = segmentSizes.length - 1;
    placements.push({ block, segment, offset: segmentSizes[segment] });
    segmentSizes[segment] += size;
  }
  return { placements, segmentSizes };
}
