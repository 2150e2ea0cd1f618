import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { UserError } from "../../base/user_error.ts";
import { expectShape, expectVectors } from "../parts/expect_shape.ts";
import { seedWords } from "../../random/philox.ts";
import { composeSampling } from "./parts/compose.ts";
import sampleCode from "./sample.wgsl" with { type: "text" };
import type { DecodeSlots } from "./decode_slots.ts";
import { pageTokens } from "../attention/attention_shape.ts";
import { parameterAt, type ParameterValue } from "../../gpu/recording/launch_parameters.ts";
import {
  blocksOf,
  inverseTemperature,
  logSoftmaxBlocks,
  vocabularyBlock,
  type VocabularyLanes,
  vocabularyLanes,
} from "../losses/log_softmax.ts";

const code = composeSampling(sampleCode);

/** How tokens are drawn. The filters apply in the order top-k, top-p, min-p. */
export interface TokenSampling {
  /** 0: the likeliest token, the lowest id of those that tie. */
  readonly temperature: number;
  /** Keep the k likeliest tokens and those that tie with the last of them; 0: all. */
  readonly topK: number;
  /** Keep the likeliest tokens that reach this mass, and ties of the last of them; 1: all. */
  readonly topP: number;
  /** Keep tokens at least this likely relative to the likeliest; 0: all. */
  readonly minP: number;
}

/** The random numbers of one rollout; position and sequence complete their place (see philox.ts). */
export interface SamplingStream {
  readonly seed: number;
  readonly stream: number;
  readonly step: number;
}

/** How a slot's tokens are drawn, and the key of its random numbers. */
export interface SlotSampling extends TokenSampling, SamplingStream {
  readonly sequenceId: number;
}

/** Bounds the workgroup memory of the hardware variant. */
const maxBlocks = 512;

/** Page tables one after the other. */
export interface PageTables {
  readonly words: Tensor;
  /** Words from the beginning of one to that of the next. */
  readonly stride: number;
}

/** Words of one slot's settings in sample.wgsl. */
export const settingsWords = 9;

/** @throws UserError naming the first value out of range */
export function checkSampling(sampling: TokenSampling): void {
  const { temperature, topK, topP, minP } = sampling;
  inverseTemperature(temperature);
  const check = (good: boolean, name: string, value: number, expected: string) => {
    if (!good) throw new UserError(`${name}: found ${value}, expected ${expected}`);
  };
  check(Number.isInteger(topK) && topK >= 0, "topK", topK, "a whole number, 0 for no limit");
  check(topP > 0 && topP <= 1, "topP", topP, "a number above 0, at most 1");
  check(minP >= 0 && minP <= 1, "minP", minP, "a number from 0 to 1");
}

/**
 * Settings of slots as the kernel reads them, 9 words each. A k of the whole vocabulary or more is none.
 *
 * @param count slots; those without settings of their own take the likeliest token
 * @param columns of the vocabulary
 */
export function samplingSettings(
  slots: readonly SlotSampling[],
  count: number,
  columns: number,
): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(count * settingsWords);
  const floats = new Float32Array(words.buffer);
  for (let s = slots.length; s < count; s++) words[s * settingsWords] = 1;
  slots.forEach(({ temperature, topK, topP, minP, seed, stream, step, sequenceId }, s) => {
    const at = s * settingsWords;
    words[at] = temperature === 0 ? 1 : 0;
    words[at + 1] = topK < columns ? topK : 0;
    floats[at + 2] = topP;
    floats[at + 3] = minP;
    words.set(seedWords(seed), at + 4);
    words[at + 6] = stream;
    words[at + 7] = step;
    words[at + 8] = sequenceId;
  });
  return words;
}

/** Filters that at least one slot asks for; the kernel leaves the others out. */
export interface SamplingNeeds {
  /** Any of the filters. */
  readonly filters: boolean;
  readonly topK: boolean;
  readonly topP: boolean;
}

/** @param columns of the vocabulary */
export function samplingNeeds(slots: readonly TokenSampling[], columns: number): SamplingNeeds {
  const drawing = slots.filter(({ temperature }) => temperature > 0);
  const topK = drawing.some(({ topK }) => topK > 0 && topK < columns);
  const topP = drawing.some(({ topP }) => topP < 1);
  return { filters: topK || topP || drawing.some(({ minP }) => minP > 0), topK, topP };
}

/**
 * Draws the next token of every slot by the slot's own settings, and moves the slot on: records the token, and stops
 * the slot when it is a stop token (which is recorded), when none remain, or when its page table has no place for a
 * further token.
 *
 * The log-prob it gives is that of the whole distribution at the slot's temperature, before the filters,
 * because that is the policy the trainer evaluates: it has the bits that `logSoftmax` and
 * `logSoftmaxFinish` give for the same logits and this token. At temperature 0 it is that of the
 * unscaled distribution.
 *
 * @param inputs logits [S, stride], rows of V columns and padding, of the slots' tokens: a token drawn has the next
 *   position, and its random number that position; settings u32 [S, 9] of `samplingSettings`; scales [S, 2] of
 *   `rowScales`, for a temperature of 1 where it is 0; pageTable u32 [S, maxPages], the cache page of every `pageTokens` positions; pageTables the
 *   same for every reach, the first that of `pageTable`, where slots have `furtherPlaces`; stops u32 of `stopArray`, at least [2 S]
 * @param slots are moved on
 * @param output window u32 [steps, S, 2], of which row `step` is written: each slot's token and the bits of its log-prob,
 *   `noToken` and 0 for slots that were inactive before
 * @param options columns: V; needs of `samplingNeeds`; lanes: overrides the choice by device
 * @throws Error when the shapes do not fit
 */
export function sampleTokens(
  gpu: Gpu,
  inputs: {
    readonly logits: Tensor;
    readonly settings: Tensor;
    readonly scales: Tensor;
    readonly pageTable: Tensor;
    readonly pageTables?: PageTables | null;
    readonly stops: Tensor;
  },
  { state, tokens, furtherPlaces }: DecodeSlots,
  { window, step }: { readonly window: Tensor; readonly step: ParameterValue },
  options: {
    readonly columns: number;
    readonly needs: SamplingNeeds;
    readonly lanes?: VocabularyLanes;
  },
): void {
  const { columns, needs, lanes = vocabularyLanes(gpu) } = options;
  const { logits, settings, scales, pageTable, pageTables = null, stops } = inputs;
  const [slots, stride] = logits.shape;
  const [, maxPages] = pageTable.shape;
  const operation = "sampleTokens";
  expectShape(operation, "logits", logits, [-1, -1]);
  expectVectors(operation, "a row of logits", stride);
  expectShape(operation, "settings", settings, [slots, settingsWords], "u32");
  expectShape(operation, "scales", scales, [slots, 2]);
  expectShape(operation, "pageTable", pageTable, [slots, -1], "u32");
  expectShape(operation, "stops", stops, [-1], "u32");
  expectShape(operation, "tokens", tokens, [slots], "u32");
  expectShape(operation, "window", window, [-1, slots, 2], "u32");
  if (stops.shape[0] < 2 * slots) {
    throw new Error(`${operation}: ${stops.shape[0]} stop words for ${slots} slots`);
  }
  const further = furtherPlaces.length;
  const tables = further > 0 ? pageTables : null;
  if (further > 0 && (!tables || tables.words.size < further * tables.stride + pageTable.size)) {
    throw new Error(`${operation}: ${further + 1} caches, and not a page table for each`);
  }
  const first = parameterAt(step, 0);
  if (first < 0 || first >= window.shape[0]) {
    throw new Error(`${operation}: step ${first} of a window of ${window.shape[0]}`);
  }
  const largest = Math.min(stride, maxBlocks * vocabularyBlock);
  if (columns < 1 || columns > largest) {
    throw new Error(`${operation}: ${columns} columns, expected 1 to ${largest}`);
  }
  const MAX_BLOCKS = lanes === 1 ? 0 : Math.ceil(blocksOf(columns) / 64) * 64;
  const { filters: FILTERED, topK: TOP_K, topP } = needs;
  gpu.scope(() => {
    const blocks = logSoftmaxBlocks(gpu, logits, { columns, scales, lanes });
    gpu.dispatch(
      {
        label: "sample",
        code,
        defines: {
          LANES: lanes,
          MAX_BLOCKS,
          FILTERED,
          TOP_K,
          PAGE: pageTokens,
          REACHES: 1 + further,
        },
      },
      {
        slots,
        columns,
        stride,
        stateStride: state.shape[1],
        maxPages,
        stepInWindow: step,
        ...(tables ? { tableStride: tables.stride } : {}),
        ...(FILTERED ? { topP: topP ? 1 : 0 } : {}),
      },
      {
        ...{ logits, blocks, settings, scales, stops, state, window },
        pageTable: tables?.words ?? pageTable,
      },
      gpu.grid(lanes === 1 ? Math.ceil(slots / 8) : slots),
    );
  });
}
