/** A policy with a reference and samples of its own, for tests of its update. */

import type { Gpu } from "../../../src/gpu/gpu.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import type { Trainer, TrainerOptions } from "../../../src/engine/training/trainer.ts";
import { type PolicySample } from "../../../src/rl/update/policy_update.ts";
import { generate } from "../../engine/sampling/generate.ts";
import { adamwNumbers, tinyConfig, tinyModel, tinyTrainer } from "../../model/tiny_model.ts";
import { lossOptions } from "./loss_options.ts";

export const loss = lossOptions({
  clipRatioHigh: 0.28,
  klCoefficient: 0.05,
  entropyCoefficient: 0.01,
  temperature: 0.9,
});

const random = new RandomStream(11, 97);
const tokens = (count: number) =>
  Uint32Array.from({ length: count }, () => random.integer(tinyConfig.vocabularySize));

/** Made-up prompts and how many responses each gets, of different lengths, with advantages of both signs. */
const prompts = [[1, 1], [9, 3], [33, 1], [20, 2], [1, 2], [31, 1]].map(([length, responses]) => ({
  prompt: tokens(length),
  responses,
}));

/**
 * Moves an old log-prob, by a little or beyond the clip bounds (log 0.8 = -0.22, log 1.28 = 0.25 nats)
 * and never near them: there, the loss has a kink that finite differences would trip over.
 *
 * @param draw uniform from -1 to 1
 */
export const spread = (draw: number) => Math.abs(draw) < 0.5 ? 0.1 * draw : 0.5 * Math.sign(draw);
export const nowhere = () => 0;

/** Samples whose old log-probs are those of `model`, moved. */
export async function sampled(
  model: Model,
  move: (draw: number) => number,
): Promise<PolicySample[]> {
  let id = 0;
  const requests = prompts.map(({ prompt, responses }) => ({
    prompt,
    sequenceIds: Array.from({ length: responses }, () => id++),
  }));
  const responses = await generate(model, requests, {
    temperature: loss.temperature,
    topK: 0,
    topP: 1,
    minP: 0,
    seed: 4,
    stream: 1,
    step: 0,
    stopTokens: [3, 9],
    maximumResponse: 20,
    slots: 6,
    stepsBetweenReadbacks: 8,
  });
  const draws = new RandomStream(12, 97);
  return responses.flatMap((group, i) =>
    group.map(({ tokens, logProbs }) => ({
      prompt: prompts[i].prompt,
      response: tokens,
      oldLogProbs: logProbs.map((logProb) => logProb + move(2 * draws.uniform() - 1)),
      advantages: logProbs.map(() => 2 * draws.uniform() - 0.8),
    }))
  );
}

/** What each step of these tests is made with. */
export const adamw = (learningRate: number) => adamwNumbers(learningRate, { weightDecay: 0.01 });

export async function withPolicies(
  gpu: Gpu,
  body: (model: Model, reference: Model, trainer: Trainer) => Promise<void>,
): Promise<void> {
  const model = tinyModel(gpu);
  const reference = tinyModel(gpu, { trained: false });
  const trainer = tinyTrainer(model);
  try {
    // A reference a little off the policy, so that the KL term has a gradient.
    const weights = await model.parameters.read();
    const draws = new RandomStream(13, 97);
    const moved = Object.entries(weights).map(([name, data]) =>
      [name, data.map((w) => w * (1 + 0.1 * (2 * draws.uniform() - 1)))] as const
    );
    reference.parameters.set(Object.fromEntries(moved));
    await body(model, reference, trainer);
  } finally {
    trainer.release();
    reference.release();
    model.release();
  }
}

/** Runs `body` with another trainer of the model. */
export async function withTrainer<Made>(
  model: Model,
  options: Partial<TrainerOptions>,
  body: (trainer: Trainer) => Promise<Made>,
): Promise<Made> {
  const trainer = tinyTrainer(model, options);
  try {
    return await body(trainer);
  } finally {
    trainer.release();
  }
}
