import assert from "node:assert/strict";
import { characterTokenizer, characterTokenizerConfig } from "../../src/data/vocabulary.ts";
import { alone } from "../../src/distributed/communicator.ts";
import { onEveryRank } from "../../src/distributed/placed.ts";
import { Sampler } from "../../src/engine/sampling/sampler.ts";
import { SampledAhead } from "../../src/rl/sampled_ahead.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { Tokenizer } from "../../src/model/tokenizer/tokenizer.ts";
import {
  generatorStep,
  type GeneratorStepOptions,
  type SolutionReward,
} from "../../src/rl/generator_step.ts";
import type { Policy } from "../../src/rl/policy.ts";
import type { GeneratorTemplate } from "../../src/rl/prompt_template.ts";
import type { ProblemSource, Solution } from "../../src/rl/responses.ts";
import { onEveryGpu } from "../kernels/harness.ts";
import { adamwNumbers, tinyModel, tinyTrainer } from "../model/tiny_model.ts";
import { lossOptions } from "./update/loss_options.ts";

const source: ProblemSource<string> = {
  question: (problem) => problem,
  referenceAnswer: () => "",
  sourceName: () => "made up",
  isCorrect: () => false,
  isSameAnswer: () => false,
};

const batchSize = 2, groupSize = 3;
const rollout = { batchSize, groupSize, verificationsPerSolution: 1 };

function stepOptions(changes: Partial<GeneratorStepOptions<string>>): GeneratorStepOptions<string> {
  const sampling = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 3, stream: 1, step: 5 };
  return {
    rollout: { ...rollout, maximumGenerationBatches: 1 },
    rewards: {
      minimumSteps: 1,
      groundTruthWeight: 1,
      generatorFormatWeight: 0,
      overlongBuffer: 0,
      overlongPenalty: 0,
    },
    advantage: {
      estimator: "grpo",
      process: "sum-to-go",
      normalisation: "separate",
      oracleAccuracy: 1,
      judged: "all",
      outcomeWeight: 1,
      processWeight: 1,
    },
    judgments: null,
    rewardModel: null,
    continuations: { count: 1, sampling: { ...sampling, stream: 3 } },
    alpha: 0,
    alphaIsEarned: false,
    judgmentQuality: null,
    reward: null,
    masking: { maskTruncated: false, dropZeroStd: false },
    loss: lossOptions(),
    adamw: adamwNumbers(0),
    during: (_, body) => body(),
    sampling,
    verifierSampling: { ...sampling, stream: 2 },
    ...changes,
  };
}

/** A generator step of a random model on questions that all batches share. */
async function step(gpu: Gpu, changes: Partial<GeneratorStepOptions<string>>) {
  const model = tinyModel(gpu);
  const trainer = tinyTrainer(model);
  const generator: Policy<GeneratorTemplate> = {
    tokenizer: Tokenizer.fromJson(
      { ...characterTokenizer() },
      { ...characterTokenizerConfig() },
      "the character vocabulary",
    ),
    template: { render: ({ question }) => `<bos>${question}?` },
    stopTokens: [2],
    maximumResponse: 12,
    maximumPrompt: null,
    config: model.config,
    parameterCount: model.parameterCount,
    isTrained: true,
    engine: onEveryRank(alone, {
      model,
      sampler: new Sampler(model, { slots: 8, stepsBetweenReadbacks: 4 }),
      trainer,
      ahead: new SampledAhead(),
      reference: null,
      hostReference: null,
    }),
  };
  const drawn: number[] = [];
  try {
    const result = await generatorStep(generator, null, source, (batch) => {
      drawn.push(batch);
      return ["cat", "dog"];
    }, stepOptions(changes));
    return { result, drawn };
  } finally {
    trainer.release();
    model.release();
  }
}

/** A reward by a response's place among all of the step, which also notes the responses. */
function rewardByPlace(rewards: readonly number[]) {
  const seen = new Map<number, Solution<string>>();
  const reward: SolutionReward<string> = (solution) => {
    const place = solution.rollout.sequenceId;
    seen.set(place, solution);
    return Promise.resolve({ reward: rewards[place] ?? 0, metrics: { place } });
  };
  return { seen, reward };
}

const textsOf = (solutions: readonly Solution<string>[]) =>
  solutions.map(({ rollout }) => [...rollout.tokens].join(" "));

onEveryGpu("generator step: further batches have random numbers of their own", async (gpu) => {
  const { seen, reward } = rewardByPlace([]);
  const { result, drawn } = await step(gpu, {
    reward,
    rollout: { ...rollout, maximumGenerationBatches: 3 },
  });
  assert.deepEqual(drawn, [0, 1, 2]);
  assert.equal(result.sampledBatches, 3);
  assert.equal(result.unequalShare, 0);
  // 3 batches of 6 responses, numbered on; no two responses to a question are the same.
  assert.deepEqual(
    [...seen.keys()].toSorted((a, b) => a - b),
    Array.from({ length: 18 }, (_, i) => i),
  );
  for (const question of ["cat", "dog"]) {
    const texts = textsOf([...seen.values()].filter(({ problem }) => problem === question));
    assert.equal(new Set(texts).size, 9, texts.join("\n"));
  }
  const first = await step(gpu, {});
  assert.equal(first.result.sampledBatches, 1);
  assert.deepEqual(
    textsOf(result.judged.map(({ solution }) => solution)),
    textsOf(first.result.judged.map(({ solution }) => solution)),
    "equal groups make up the number, and the first batch is what it is without further ones",
  );
  assert.equal(result.update?.gradientNorm, 0, "equal rewards teach nothing");
});

onEveryGpu("generator step: it learns from the groups of unequal rewards", async (gpu) => {
  // Batch 0: cat and dog, batch 1: cat and dog, three responses to each.
  const rewards = [1, 1, 1, 0, 0.5, 1, 0, 2, 0, 0, 0, 0];
  const { seen, reward } = rewardByPlace(rewards);
  const { result, drawn } = await step(gpu, {
    reward,
    rollout: { ...rollout, maximumGenerationBatches: 4 },
  });
  assert.deepEqual(drawn, [0, 1]);
  assert.equal(result.sampledBatches, 2);
  assert.equal(result.unequalShare, 2 / 4);
  const places = result.judged.map(({ solution }) => solution.rollout.sequenceId);
  assert.deepEqual(places, [3, 4, 5, 6, 7, 8]);
  assert.deepEqual(result.judged.map(({ reward }) => reward.outcome), [0, 0.5, 1, 0, 2, 0]);
  assert.deepEqual(result.rewardMetrics, { place: 5.5 });
  assert.equal(result.fracRewardZeroStd, 0);
  assert.ok(Number(result.update?.gradientNorm) > 0);
  const tokens = [...seen.values()].reduce((sum, { rollout }) => sum + rollout.tokens.length, 0);
  assert.equal(result.sampledTokens, tokens, "tokens of groups that were passed over count too");
  assert.ok(result.leftOut.every((isLeftOut) => !isLeftOut));
  // What is better than its group's mean is reinforced, what is worse is not.
  const signs = result.judged.map(({ advantages }) => Math.sign(advantages[0]));
  assert.deepEqual(signs, [-1, 0, 1, -1, 1, -1]);
});

onEveryGpu("generator step: it says from which responses it did not learn", async (gpu) => {
  const masking = { maskTruncated: true, dropZeroStd: false };
  const { result: { judged, leftOut } } = await step(gpu, { masking });
  const cutOff = judged.map(({ solution }) => !solution.rollout.finished);
  assert.ok(cutOff.some(Boolean));
  assert.deepEqual(leftOut, cutOff);
});
