/**
 * What a policy's passes do, from what the launches of a few small ones state on a GPU without memory. T tokens, R
 * predictions and P pairs of a query and a key it attends to, in each layer the same (windows are not counted: what a
 * layer that looks back less far costs is counted as full): operations of attention are in proportion to P, and
 * everything else is linear in T and R.
 */

import { attends } from "../../model/decoder/config.ts";
import { forwardSequences } from "../../engine/training/forward.ts";
import { HostReference } from "../../engine/training/host_reference.ts";
import { promptedSequence } from "../../engine/training/sequence.ts";
import { Trainer } from "../../engine/training/trainer.ts";
import { Sampler } from "../../engine/sampling/sampler.ts";
import { bytesOf } from "../../gpu/tensor.ts";
import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import { keptRows } from "../../model/decoder/head.ts";
import type { Model } from "../../model/decoder/model.ts";
import type { PolicyEngine } from "../../rl/policy.ts";
import { anyNumbers, anySampling } from "../memory/any_numbers.ts";
import { launched, sumOfWorks, type Work } from "./work.ts";

/** Size of a pass. */
export interface PassSize {
  /** T */
  readonly tokens: number;
  /** P */
  readonly pairs: number;
  /** R */
  readonly predictions: number;
}

/** Work of passes of any size. */
export type PassWork = (size: PassSize) => Work;

/** Work of an update. */
export interface UpdateWork {
  /** Parameters that it changes. */
  readonly parameters: number;
  /** Bytes in which the model has them. */
  readonly weightBytes: number;
  /** A pass with its gradient. */
  readonly gradient: PassWork;
  /** A pass of the reference, without a gradient; null where nothing is compared with it. */
  readonly reference: PassWork | null;
  /** Bytes of the reference that come from the host before a step's updates. */
  readonly referenceBytes: number;
  /** A step of the optimizer on all parameters. */
  readonly step: Work;
}

/** Work of a policy. */
export interface PolicyWork {
  /** Keys and values of tokens, which nobody asks for predictions. */
  readonly prefill: (tokens: number, pairs: number) => Work;
  /** One token of each of some slots, which attend to so many keys together. */
  readonly decode: (slots: number, keys: number) => Work;
  /** Null for a frozen policy. */
  readonly update: UpdateWork | null;
}

/** Rehearses a policy that lies on a rehearsal GPU. */
export async function rehearseWork(
  { model, trainer, reference, hostReference }: Pick<
    PolicyEngine,
    "model" | "trainer" | "reference" | "hostReference"
  >,
): Promise<PolicyWork> {
  const { prefill, decode } = await samplingWork(model);
  const update = trainer && {
    ...await trainingWork(trainer),
    ...await comparing(trainer, hostReference ?? reference),
  };
  return { prefill, decode, update };
}

/** Tokens of a rehearsed sequence, all of which a page holds. */
const length = pageTokens;
/** Sequences of a rehearsed pass, at least. */
const leastSequences = 4;
/** Pairs of a sequence. */
const pairsOf = length * (length + 1) / 2;

type Sequence = ReturnType<typeof sequence>;

/** A sequence whose last tokens are predicted, and whose prompt is its own. */
function sequence(model: Model, number: number, predictions: number) {
  const prompt = new Uint32Array(length - predictions).fill(number % model.config.vocabularySize);
  const weights = new Float32Array(predictions);
  return { ...promptedSequence(prompt, new Uint32Array(predictions)), weights };
}

/** Passes of at most so many tokens, whose predictions may be few enough that their logits are kept, or not. */
async function passWork(
  model: Model,
  mostTokens: number,
  run: (sequences: readonly Sequence[]) => Promise<unknown>,
): Promise<PassWork> {
  const rehearse = (count: number, predictions: number) => {
    const sequences = Array.from({ length: count }, (_, s) => sequence(model, s, predictions));
    return launched(model.gpu, () => run(sequences));
  };
  const linear = async (count: number, predictions: number): Promise<PassWork> => {
    const base = await rehearse(count, 2 * predictions);
    const longer = await rehearse(2 * count, predictions);
    const fewer = await rehearse(count, predictions);
    return ({ tokens, pairs, predictions: rows }) => {
      const more = tokens / (count * length) - 1;
      const less = 2 - rows / (count * predictions);
      const work = sumOfWorks([1 - more - less, base], [more, longer], [less, fewer]);
      const flops = base.attention.flops * pairs / (count * pairsOf);
      return { ...work, attention: { ...work.attention, flops } };
    };
  };
  const kept = keptRows(model.config.vocabularySize);
  // More tokens than the few rows for which an adapter's products are joined (linear.ts).
  const few = await linear(leastSequences, 1);
  if (kept >= mostTokens) return few;
  const most = length / 2 - 1;
  const many = await linear(Math.max(leastSequences, Math.ceil((kept + 1) / most)), most);
  return (size) => (size.predictions > kept ? many : few)(size);
}

async function comparing(
  trainer: Trainer,
  reference: Model | HostReference | null,
): Promise<Pick<UpdateWork, "reference" | "referenceBytes">> {
  const work = (model: Model) => referenceWork(model, trainer.options.microBatchTokens);
  if (reference instanceof HostReference) {
    const bytes = trainer.model.parameters.weights.reduce((sum, { bytes }) => sum + bytes, 0);
    return { reference: await trainer.withinGradients(work), referenceBytes: bytes };
  }
  return { reference: reference && await work(reference), referenceBytes: 0 };
}

function referenceWork(reference: Model, mostTokens: number): Promise<PassWork> {
  const options = { microBatchTokens: Infinity, sharePrompts: false };
  return passWork(
    reference,
    mostTokens,
    (sequences) => forwardSequences(reference, sequences, options),
  );
}

async function trainingWork(
  { model, options }: Trainer,
): Promise<Pick<UpdateWork, "parameters" | "weightBytes" | "gradient" | "step">> {
  const whole = { ...options, shards: 1, microBatchTokens: Infinity };
  const trainer = new Trainer(model, whole);
  try {
    return {
      parameters: model.own.count,
      weightBytes: model.own.weights.reduce((sum, { bytes }) => sum + bytes, 0),
      gradient: await passWork(
        model,
        options.microBatchTokens,
        (sequences) => trainer.forwardBackward(sequences, { name: "cross_entropy" }),
      ),
      step: await launched(model.gpu, () => trainer.optimStep(anyNumbers)),
    };
  } finally {
    trainer.release();
  }
}

async function samplingWork(model: Model): Promise<Pick<PolicyWork, "prefill" | "decode">> {
  const { gpu, config: { kvHeads, headDim } } = model;
  const attending = model.layers.filter(({ kind }) => attends(kind)).length;
  const rehearse = async (slots: number) => {
    const sampler = new Sampler(model, { slots, stepsBetweenReadbacks: 1 });
    for (let sequenceId = 0; sequenceId < slots; sequenceId++) {
      sampler.add({
        ...anySampling,
        // The last token's keys are computed with the first that is sampled.
        prompt: new Uint32Array(length + 1).fill(sequenceId),
        sequenceId,
        maximumResponse: 2,
        stopTokens: [],
        listener: { end: () => {} },
      });
    }
    const both = await launched(gpu, () => sampler.step());
    const decode = await launched(gpu, () => sampler.step());
    sampler.close();
    return { prefill: sumOfWorks([1, both], [-1, decode]), decode };
  };
  const slots = 16;
  const base = await rehearse(slots);
  const twice = await rehearse(2 * slots);
  const bytesOfKey = 2 * attending * kvHeads * headDim * bytesOf(gpu.cacheDtype);
  return {
    prefill: (tokens, pairs) => {
      const more = tokens / (slots * length) - 1;
      const work = sumOfWorks([1 - more, base.prefill], [more, twice.prefill]);
      const flops = base.prefill.attention.flops * pairs / (slots * pairsOf);
      return { ...work, attention: { ...work.attention, flops } };
    },
    decode: (width, keys) => {
      const more = width / slots - 1;
      const work = sumOfWorks([1 - more, base.decode], [more, twice.decode]);
      // How many keys there are is known to the GPU alone: a launch states a page for each slot.
      const bytes = work.attention.bytes + (keys - width * pageTokens) * bytesOfKey;
      return { ...work, attention: { ...work.attention, bytes } };
    },
  };
}
