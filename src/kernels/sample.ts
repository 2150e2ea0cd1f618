import type { Gpu } from "../gpu/gpu.ts";
import type { Tensor } from "../gpu/tensor.ts";
import { UserError } from "../base/user_error.ts";
import { expectShape, expectVectors } from "./expect_shape.ts";
import { seedWords } from "../random/philox.ts";
import { compose } from "./parts/compose.ts";
import sampleCode from "./sample.wgsl" with { type: "text" };
import {
  inverseTemperature,
  vocabularyBlock,
  type VocabularyLanes,
  vocabularyLanes,
} from "./log_softmax.ts";

const code = compose(sampleCode);

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

/** Bounds the workgroup memory of the hardware variant. */
const maxBlocks = 512;

/** Words of one slot's settings in sample.wgsl. */
export const settingsWords = 8;

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

/** The settings of every slot as data: one slot's say nothing about another's. S slots. */
export interface SlotSettings {
  /** u32 [S, 8], of `samplingSettings` */
  readonly settings: Tensor;
  /** f32 [S]; 1 for a temperature of 0 */
  readonly inverseTemperature: Tensor;
  /** u32 [S], keys of the random numbers */
  readonly sequenceIds: Tensor;
}

/**
 * Settings of slots as the kernel reads them, 8 words each. A k of the whole vocabulary or more is none.
 *
 * @param count slots; those without settings of their own take the likeliest token
 * @param columns of the vocabulary
 */
export function samplingSettings(
  slots: readonly (TokenSampling & SamplingStream)[],
  count: number,
  columns: number,
): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(count * settingsWords);
  const floats = new Float32Array(words.buffer);
  for (let s = slots.length; s < count; s++) words[s * settingsWords] = 1;
  slots.forEach(({ temperature, topK, topP, minP, seed, stream, step }, s) => {
    const at = s * settingsWords;
    words[at] = temperature === 0 ? 1 : 0;
    words[at + 1] = topK < columns ? topK : 0;
    floats[at + 2] = topP;
    floats[at + 3] = minP;
    words.set(seedWords(seed), at + 4);
    words[at + 6] = stream;
    words[at + 7] = step;
  });
  return words;
}

/** What any slot asks for; the rest is left out. */
export interface SamplingNeeds {
  /** Any slot draws: its temperature is above 0. */
  readonly draws: boolean;
  readonly topK: boolean;
  readonly topP: boolean;
}

/** @param columns of the vocabulary */
export function samplingNeeds(slots: readonly TokenSampling[], columns: number): SamplingNeeds {
  const drawing = slots.filter(({ temperature }) => temperature > 0);
  return {
    draws: drawing.length > 0,
    topK: drawing.some(({ topK }) => topK > 0 && topK < columns),
    topP: drawing.some(({ topP }) => topP < 1),
  };
}

/**
 * Draws the next token of every slot by the slot's own settings.
 *
 * The log-prob it gives is that of the whole distribution at the slot's temperature, before the filters,
 * because that is the policy the trainer evaluates: it has the bits that `logSoftmax` and
 * `logSoftmaxFinish` give for the same logits and this token. At temperature 0 it is that of the
 * unscaled distribution.
 *
 * @param inputs logits [S, stride], rows of V columns and padding; logSumExp [S] of the scaled logits;
 *   positions u32 [S] of the tokens whose logits these are: the token drawn has the next position, and
 *   its random number that position
 * @param outputs tokens u32 [S], logProbs [S] in nats
 * @param options columns: V; needs of `samplingNeeds`; lanes: overrides the choice by device
 * @throws Error when the shapes do not fit
 */
export function sampleTokens(
  gpu: Gpu,
  inputs: {
    readonly logits: Tensor;
    readonly logSumExp: Tensor;
    readonly positions: Tensor;
  } & SlotSettings,
  outputs: { readonly tokens: Tensor; readonly logProbs: Tensor },
  options: {
    readonly columns: number;
    readonly needs: SamplingNeeds;
    readonly lanes?: VocabularyLanes;
  },
): void {
  const { columns, needs, lanes = vocabularyLanes(gpu) } = options;
  const [slots, stride] = inputs.logits.shape;
  const operation = "sampleTokens";
  expectShape(operation, "logits", inputs.logits, [-1, -1]);
  expectVectors(operation, "a row of logits", stride);
  expectShape(operation, "logSumExp", inputs.logSumExp, [slots]);
  expectShape(operation, "sequenceIds", inputs.sequenceIds, [slots], "u32");
  expectShape(operation, "positions", inputs.positions, [slots], "u32");
  expectShape(operation, "settings", inputs.settings, [slots, settingsWords], "u32");
  expectShape(operation, "inverseTemperature", inputs.inverseTemperature, [slots]);
  expectShape(operation, "tokens", outputs.tokens, [slots], "u32");
  expectShape(operation, "logProbs", outputs.logProbs, [slots]);
  const largest = Math.min(stride, maxBlocks * vocabularyBlock);
  if (columns < 1 || columns > largest) {
    throw new Error(`${operation}: ${columns} columns, expected 1 to ${largest}`);
  }
  const blocks = Math.ceil(columns / vocabularyBlock);
  const MAX_BLOCKS = lanes === 1 ? 0 : Math.ceil(blocks / 64) * 64;
  const { logits, logSumExp, positions, settings, inverseTemperature, sequenceIds } = inputs;
  gpu.dispatch(
    {
      label: "sample",
      code,
      defines: { LANES: lanes, MAX_BLOCKS, TOP_K: needs.topK },
    },
    { slots, columns, stride, draws: needs.draws ? 1 : 0, topP: needs.topP ? 1 : 0 },
    {
      logits,
      logSumExp,
      positions,
      settings,
      inverseTemperature,
      sequenceIds,
      tokens: outputs.tokens,
      logProbs: outputs.logProbs,
    },
    gpu.grid(lanes === 1 ? Math.ceil(slots / 8) : slots),
  );
}
