/** A client's loss and its datums as the engine takes them. */

import { UserError } from "../../base/user_error.ts";
import type {
  ClippedObjective,
  Loss,
  SampledSequence,
  WeightedSequence,
} from "../../engine/training/losses.ts";
import { floats, ids, tokenIds } from "./wire/arrays.ts";
import type { Datum, ForwardBackwardRequest } from "./wire/tinker_pb.ts";

/** What is to be computed. */
export interface AskedLoss {
  readonly loss: Loss;
  /** One for each datum, with a prediction at each of its N positions, or at the last ones of them. */
  readonly sequences: readonly (WeightedSequence | SampledSequence)[];
  /** [N] of each datum */
  readonly targets: readonly Uint32Array[];
}

/** What a client may say of a loss. */
interface LossForm {
  /** Names of its numbers, and what they are by default. */
  readonly numbers: Readonly<Record<string, number>>;
  /** Names of its arrays, besides the targets. */
  readonly arrays: readonly string[];
  readonly make: (numbers: Readonly<Record<string, number>>) => Loss;
}

const TERMS = { kl: null, entropyCoefficient: 0 } as const;

const clipped = (name: ClippedObjective, arrays: readonly string[] = []): LossForm => ({
  numbers: { clip_low_threshold: 0.8, clip_high_threshold: 1.2 },
  arrays: ["logprobs", "advantages", ...arrays],
  // The thresholds are of the ratio itself.
  make: ({ clip_low_threshold: low, clip_high_threshold: high }) => {
    if (!(low >= 0 && low <= 1 && high >= 1 && high < Infinity)) {
      throw new UserError(
        `${name}: it clips to ${low} … ${high}; expected clip_low_threshold from 0 to 1 and ` +
          `clip_high_threshold from 1 up.`,
      );
    }
    return { ...TERMS, name, clipRatioLow: 1 - low, clipRatioHigh: high - 1 };
  },
});

const LOSSES: Readonly<Record<string, LossForm>> = {
  cross_entropy: {
    numbers: {},
    arrays: ["weights"],
    make: () => ({ name: "cross_entropy" }),
  },
  importance_sampling: {
    numbers: {},
    arrays: ["logprobs", "advantages"],
    make: () => ({ ...TERMS, name: "importance_sampling" }),
  },
  ppo: clipped("ppo"),
  cispo: clipped("cispo"),
  gspo: clipped("gspo", ["sequence_ratio_mask"]),
};

/**
 * Reads a request.
 *
 * @param longest tokens of a datum
 * @throws UserError naming the loss, number, datum or array that cannot be taken
 */
export function askedLoss(request: ForwardBackwardRequest, longest: number): AskedLoss {
  const { lossFn, data } = request;
  if (!Object.hasOwn(LOSSES, lossFn)) {
    throw new UserError(
      `loss_fn: ${JSON.stringify(lossFn)} is not built; there are ${
        Object.keys(LOSSES).join(", ")
      }.`,
    );
  }
  const form = LOSSES[lossFn];
  const loss = form.make({ ...form.numbers, ...numbersOf(request, form) });
  if (data.length === 0) throw new UserError("data: there is none; send at least one datum.");
  const whole = data.map((datum, d) => sequenceOf(datum, d, lossFn, form, longest));
  const sequences = loss.name === "gspo"
    ? whole.map(ofRatio)
    : whole.map(({ sequence }) => sequence);
  return { loss, sequences, targets: whole.map(({ sequence: { targets } }) => targets) };
}

function numbersOf(
  { lossFn, lossFnConfig, lossFnConfigV2 }: ForwardBackwardRequest,
  { numbers }: LossForm,
): Record<string, number> {
  const given = new Map<string, number | string | undefined>(Object.entries(lossFnConfig));
  for (const [name, { value }] of Object.entries(lossFnConfigV2)) given.set(name, value.value);
  const known = Object.keys(numbers);
  return Object.fromEntries(Array.from(given, ([name, value]) => {
    if (!known.includes(name)) {
      const there = known.length === 0 ? "it takes none" : `it takes ${known.join(", ")}`;
      throw new UserError(`loss_fn_config: ${lossFn} has no ${JSON.stringify(name)}; ${there}.`);
    }
    if (typeof value !== "number") {
      throw new UserError(`loss_fn_config.${name}: expected a number.`);
    }
    return [name, value];
  }));
}

function sequenceOf(
  { modelInput, lossFnInputs }: Datum,
  d: number,
  lossFn: string,
  form: LossForm,
  longest: number,
): WholeSequence {
  const where = `data[${d}]`;
  const tokens = joined(modelInput.map(({ chunk }, c) => {
    if (chunk.case === "encodedText") {
      return tokenIds(chunk.value.tokens, `${where}.model_input[${c}]`);
    }
    throw new UserError(`${where}.model_input[${c}]: only text chunks are supported.`);
  }));
  if (tokens.length === 0) throw new UserError(`${where}: it has no tokens.`);
  if (tokens.length > longest) {
    throw new UserError(
      `${where}: it has ${tokens.length} tokens, and this server trains on at most ${longest}. Cut it, or start ` +
        `the server with more --micro-batch-tokens.`,
    );
  }
  const known = ["target_tokens", ...form.arrays];
  const stray = Object.keys(lossFnInputs).find((name) => !known.includes(name));
  if (stray !== undefined) {
    throw new UserError(
      `${where}.loss_fn_inputs: ${lossFn} has no ${JSON.stringify(stray)}; it takes ${
        known.join(", ")
      }.`,
    );
  }
  const fitting = <Values extends ArrayLike<number>>(name: string, values: Values): Values => {
    if (values.length === tokens.length) return values;
    throw new UserError(
      `${where}.loss_fn_inputs.${name}: it has ${values.length} elements and the input ${tokens.length} tokens.`,
    );
  };
  const given = (name: string) => Object.hasOwn(lossFnInputs, name) ? lossFnInputs[name] : null;
  const array = (name: string): Float32Array | null => {
    const tensor = given(name);
    return tensor && fitting(name, floats(tensor, `${where}.loss_fn_inputs.${name}`));
  };
  const needed = (name: string): Float32Array => {
    const values = array(name);
    if (values) return values;
    throw new UserError(`${where}.loss_fn_inputs: ${lossFn} needs ${name}.`);
  };
  const target = given("target_tokens");
  if (target === null) {
    throw new UserError(`${where}.loss_fn_inputs: ${lossFn} needs target_tokens.`);
  }
  const targets = fitting("target_tokens", ids(target, `${where}.loss_fn_inputs.target_tokens`));
  const predictions = { tokens, targets, first: 0 };
  if (lossFn === "cross_entropy") {
    const weights = array("weights") ?? new Float32Array(tokens.length).fill(1);
    return { sequence: { ...predictions, weights }, mask: null, where };
  }
  const advantages = needed("advantages");
  // Where nothing is to be gained there is no ratio to compute.
  const weights = advantages.map((advantage) => advantage === 0 ? 0 : 1);
  const sequence = { ...predictions, weights, advantages, oldLogProbs: needed("logprobs") };
  return { sequence, mask: array("sequence_ratio_mask"), where };
}

/** A datum with a prediction at each position. */
interface WholeSequence {
  readonly sequence: WeightedSequence | SampledSequence;
  /** [N] the positions of which a sequence's ratio is made */
  readonly mask: Float32Array | null;
  /** For messages. */
  readonly where: string;
}

/** The positions of which the ratio of a sequence is made: those after a prompt. */
function ofRatio({ sequence, mask, where }: WholeSequence): SampledSequence {
  const { tokens, targets, weights, advantages, oldLogProbs } = sequence as SampledSequence;
  const counted = mask ?? weights;
  const begin = counted.findIndex((value) => value !== 0);
  const first = begin < 0 ? tokens.length : begin;
  if (mask?.subarray(first).some((value) => value !== 1)) {
    throw new UserError(
      `${where}.loss_fn_inputs.sequence_ratio_mask: expected zeros for the prompt and then ones alone.`,
    );
  }
  return {
    tokens,
    first,
    targets: targets.subarray(first),
    weights: weights.subarray(first),
    advantages: advantages.subarray(first),
    oldLogProbs: oldLogProbs.subarray(first),
  };
}

function joined(parts: readonly Uint32Array[]): Uint32Array {
  const tokens = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    tokens.set(part, at);
    at += part.length;
  }
  return tokens;
}

/** The loss of sequences whose log-probs are known, in float64, as it is computed with a gradient. */
export function lossOf({ loss, sequences }: AskedLoss, logProbs: readonly Float32Array[]): number {
  let sum = 0;
  sequences.forEach((sequence, s) => {
    // Those before the first prediction were asked for beside it.
    const found = logProbs[s].subarray(logProbs[s].length - sequence.targets.length);
    sum += lossOfSequence(loss, sequence, found);
  });
  return sum;
}

function lossOfSequence(
  loss: Loss,
  sequence: WeightedSequence | SampledSequence,
  logProbs: Float32Array,
): number {
  const { weights } = sequence;
  const each = (of: (i: number) => number) =>
    weights.reduce((sum, weight, i) => weight === 0 ? sum : sum + weight * of(i), 0);
  if (loss.name === "cross_entropy") return each((i) => -logProbs[i]);
  const { advantages, oldLogProbs } = sequence as SampledSequence;
  const differences = Array.from(logProbs, (value, i) => value - oldLogProbs[i]);
  const mean = differences.reduce((a, b) => a + b, 0) / differences.length;
  return each((i) => {
    const ratio = Math.exp(loss.name === "gspo" ? mean : differences[i]);
    if (loss.name === "importance_sampling") return -ratio * advantages[i];
    const clip = Math.min(Math.max(ratio, 1 - loss.clipRatioLow), 1 + loss.clipRatioHigh);
    if (loss.name === "cispo") return -clip * advantages[i] * logProbs[i];
    return -Math.min(ratio * advantages[i], clip * advantages[i]);
  });
}
