import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import {
  attentionBlock,
  type AttentionShape,
  expectAttentionShape,
  log2e,
  pageTokens,
} from "../attention/attention_shape.ts";
import { composeAttention } from "../attention/parts/compose.ts";
import walk_load from "./parts/walk_load.wgsl" with { type: "text" };
import type { Activation } from "../parts/activation.ts";
import { expectShape } from "../parts/expect_shape.ts";
import { slotFieldAt } from "../sampling/decode_slots.ts";
import walkText from "./decode_walk.wgsl" with { type: "text" };

const code = composeAttention(walkText, { walk_load });

/** Kinds of steps in the order of their numbers in the kernel. */
const kinds = ["norm", "product", "productAdded", "head", "gate", "attention"] as const;

/** Words of a step in the kernel. */
const stepWords = 7;

/** One of the things that are done with each slot; places and sizes in vectors of four numbers. */
export type WalkStep =
  /** RMSNorm of `depth` vectors by a weight that begins at `weight`. */
  | {
    readonly kind: "norm";
    readonly input: number;
    readonly output: number;
    readonly depth: number;
    readonly weight: number;
  }
  /** The product of `depth` vectors with a weight of `columns` rows, in numbers; added to what is there, or the logits. */
  | {
    readonly kind: "product" | "productAdded" | "head";
    readonly input: number;
    /** The head's are the logits. */
    readonly output?: number;
    readonly depth: number;
    readonly weight: number;
    readonly columns: number;
    /** Where sums of its columns are put aside. */
    readonly aside: number;
  }
  /** act(gate) · up of `depth` vectors of each, which follow one another. */
  | {
    readonly kind: "gate";
    readonly input: number;
    readonly output: number;
    readonly depth: number;
  }
  /** Rotates queries and keys, keeps keys and values, and attends; what it gives takes the queries' place. */
  | {
    readonly kind: "attention";
    readonly input: number;
    /** Where the layer's keys begin, and its values. */
    readonly cache: number;
  };

/** The words of steps on the GPU, u32 [steps, 7]; whoever asked for them releases them. */
export function walkSteps(gpu: Gpu, steps: readonly WalkStep[]): Tensor {
  const words = steps.flatMap((step) => {
    const kind = kinds.indexOf(step.kind);
    switch (step.kind) {
      case "norm":
        return [kind, step.input, step.output, step.weight, 0, step.depth, 0];
      case "gate":
        return [kind, step.input, step.output, 0, 0, step.depth, 0];
      case "attention":
        return [kind, step.input, 0, step.cache, 0, 0, 0];
      default: {
        const { input, output = 0, weight, aside, depth, columns } = step;
        return [kind, input, output, weight, aside, depth, columns];
      }
    }
  });
  return gpu.from(Uint32Array.from(words), [steps.length, stepWords], "u32", "steps of a walk");
}

/** Query heads of one key/value head that a lane takes at once, at most: of more no sums would stay at hand. */
export const mostHeadsOfWalk = 8;

/** The longest head that a lane takes. */
export const longestHeadOfWalk = 32;

/** Vectors of a factor that a lane holds at once, at most; fewer where they do not divide a product's depth. */
const mostDepth = 8;

/** What the kernel must know of a decoder. */
export interface WalkShape extends AttentionShape {
  /** Elements at a head's front that are rotated. */
  readonly rotated: number;
  /** C */
  readonly hiddenSize: number;
  /** V */
  readonly vocabularySize: number;
  readonly normEpsilon: number;
  readonly activation: Activation;
  /** Where the embedding begins in the weights, in vectors. */
  readonly embedding: number;
  /** Vectors of a slot's row. */
  readonly width: number;
  /** Where in a slot's row a block's scores are kept: `attentionBlock` numbers for each query head of a key/value head. */
  readonly scores: number;
  /** Vectors of the depths of all products. */
  readonly depths: readonly number[];
}

/** A view begins at a multiple of so many numbers. */
const viewAlignment = 64;

/** Slots of a lane. More share a load of weights, and leave a processor's cores fewer workgroups. */
function slotsOfLane(slots: number): 1 | 2 | 4 {
  return slots >= 128 ? 4 : slots >= 32 ? 2 : 1;
}

/**
 * The logits of one token of every slot, by all layers of a small decoder in one launch: the bits of the kernels of which
 * a step is otherwise made.
 *
 * @param bindings weights f32 [N], all of the model's; steps of `walkSteps`; table [P, D/2, 2] of `ropeTable`; pageTable
 *   u32 [S, pages]; state u32 of `decodeState`; keys and values f32 [layers, R, KV, D] of the cache
 * @returns [S, V, padded to a multiple of 4]; call inside a `gpu.scope`, for it is a view
 * @throws Error when a tensor's shape is not the documented one
 */
export function decodeWalk(
  gpu: Gpu,
  bindings: {
    readonly weights: Tensor;
    readonly steps: Tensor;
    readonly table: Tensor;
    readonly pageTable: Tensor;
    readonly state: Tensor;
    readonly keys: Tensor;
    readonly values: Tensor;
  },
  shape: WalkShape,
): Tensor {
  const operation = "decode walk";
  const { heads, kvHeads, headDim, hiddenSize, vocabularySize, width, depths } = shape;
  const { weights, steps, table, pageTable, state, keys, values } = bindings;
  expectAttentionShape(operation, shape);
  const [slots, maxPages] = pageTable.shape;
  const stride = Math.ceil(vocabularySize / 4) * 4;
  expectShape(operation, "weights", weights, [-1]);
  expectShape(operation, "steps", steps, [-1, stepWords], "u32");
  expectShape(operation, "table", table, [-1, headDim / 2, 2]);
  expectShape(operation, "pageTable", pageTable, [slots, -1], "u32");
  expectShape(operation, "state", state, [-1, -1], "u32");
  expectShape(operation, "keys", keys, [-1, -1, kvHeads, headDim]);
  expectShape(operation, "values", values, keys.shape);
  const HEADS = heads / kvHeads;
  if (HEADS > mostHeadsOfWalk || headDim > longestHeadOfWalk) {
    throw new Error(
      `${operation}: ${HEADS} heads of ${headDim} to a key/value head, expected at most ` +
        `${mostHeadsOfWalk} of ${longestHeadOfWalk}`,
    );
  }
  const LANES = 8;
  const SLOTS = slotsOfLane(slots);
  const workgroups = Math.ceil(slots / (LANES * SLOTS));
  let DEPTH = mostDepth;
  while (depths.some((depth) => depth % DEPTH !== 0)) DEPTH /= 2;
  const defines = {
    LANES,
    SLOTS,
    SHARED: gpu.tuning.subgroups !== null,
    DEPTH,
    HEADS,
    D: headDim,
    BLOCK: attentionBlock,
    PAGE: pageTokens,
    GELU: shape.activation === "gelu",
    TOKENS: slotFieldAt("tokens"),
    POSITIONS: slotFieldAt("positions"),
    KEY_ROWS: slotFieldAt("keyRows"),
    LENGTHS: slotFieldAt("lengths"),
  };
  // Logits follow the rows: eight tensors are what a kernel may bind.
  const logitsAt = Math.ceil(workgroups * LANES * SLOTS * 4 * width / viewAlignment) *
    viewAlignment;
  const rows = gpu.tensor([logitsAt + slots * stride], "f32", "rows of a walk");
  gpu.dispatch(
    { label: operation, code, defines },
    {
      slots,
      stepCount: steps.shape[0],
      width,
      hidden: hiddenSize / 4,
      scores: shape.scores,
      vocabulary: vocabularySize,
      logits: logitsAt / 4,
      logitVectors: stride / 4,
      stateStride: state.shape[1],
      maxPages,
      cacheRows: keys.shape[1],
      maxPositions: table.shape[0],
      heads,
      kvHeads,
      turned: shape.rotated / 8,
      scale: shape.scale * log2e,
      epsilon: shape.normEpsilon,
      embedding: shape.embedding,
    },
    { ...bindings, rows },
    gpu.grid(workgroups),
    { kind: "products", bytes: weights.bytes, flops: 2 * slots * weights.size },
  );
  return rows.view(logitsAt, [slots, stride], "logits");
}
