/** A generator and a verifier that cut the same text into different tokens. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { initialise } from "../../src/model/decoder/initialise.ts";
import { Model } from "../../src/model/decoder/model.ts";
import { stopTokensOf } from "../../src/model/tokenizer/stop_tokens.ts";
import { generatorStep } from "../../src/rl/generator_step.ts";
import type { TangoConfig } from "../../src/run/config/config_schema.ts";
import { rolloutSampling } from "../../src/run/tango/held_out_evaluation.ts";
import { loadTangoConfig } from "../../src/run/config/load_config.ts";
import { anyNumbers } from "../../src/run/memory/any_numbers.ts";
import { lossOptions } from "../../src/run/config/loss_options.ts";
import { openPolicies, releasePolicies } from "../../src/run/tango/policies.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { train } from "../../src/run/loop/training_loop.ts";
import { SftRun } from "../../src/run/sft/sft_run.ts";
import { loggedRun } from "./logged_run.ts";
import { alone } from "../../src/distributed/communicator.ts";
import { onEveryRank } from "../../src/distributed/placed.ts";
import { TaskProblems } from "../../src/run/problems/task_problems.ts";
import { writeModelFolder } from "../../src/run/store/weights_folder.ts";
import { stringify } from "yaml";
import { gpuOf } from "../kernels/harness.ts";
import { mergedTokenizer, mergedVocabularySize } from "../model/merged_tokenizer.ts";
import { tinyConfig } from "../model/tiny_model.ts";

/** Two steps in a solution, so that the first step's end lies inside it. */
const task = {
  name: "last-letter",
  minimum_steps: 2,
  maximum_steps: 2,
  minimum_letters: 2,
  maximum_letters: 2,
};

/** Writes a model of random weights with the merged vocabulary. */
async function writeMergedModel(gpu: Gpu, folder: string): Promise<void> {
  const tokenizer = mergedTokenizer();
  const config = { ...tinyConfig, vocabularySize: mergedVocabularySize };
  const model = Model.create(gpu, config, { trained: true });
  initialise(model, 3, 0.05);
  const stopTokens = stopTokensOf(tokenizer, [], "the merged model");
  await writeModelFolder(folder, onEveryRank(alone, { model, tokenizer, stopTokens }));
  model.release();
}

/** Trains a policy until it is mostly in the format. */
async function warmStart(
  gpu: Gpu,
  policy: "generator" | "verifier",
  initial: string | null,
  folder: string,
): Promise<void> {
  const { hiddenSize, layers, heads, kvHeads, intermediateSize } = tinyConfig;
  const config = sftConfigSchema.parse({
    policy,
    task,
    initial_model: initial,
    architecture: {
      hidden_size: hiddenSize,
      layers,
      attention_heads: heads,
      key_value_heads: kvHeads,
      intermediate_size: intermediateSize,
    },
    optimizer: { learning_rate: 0.01 },
    batch_size: 16,
    schedule: { total_training_steps: 120, test_frequency: 1000 },
    evaluation: { problems: 1 },
  });
  const run = await SftRun.open(gpu, config);
  await train(run, RunFolder.at(`${folder}-sft`));
  await run.save(folder);
  run.close();
}

async function configured(gpu: Gpu, folder: string): Promise<TangoConfig> {
  const [merged, generator, verifier] = ["merged", "generator", "verifier"]
    .map((name) => join(folder, name));
  await writeMergedModel(gpu, merged);
  await warmStart(gpu, "generator", merged, generator);
  await warmStart(gpu, "verifier", null, verifier);
  const file = join(folder, "tango.yaml");
  Deno.writeTextFileSync(
    file,
    stringify({
      task,
      generator: { model: generator, max_response_length: 48 },
      verifier: { model: verifier, max_response_length: 80 },
      rollout: { batch_size: 6, group_size: 3 },
      rewards: { minimum_steps: 1 },
      advantage: { alpha: { initial: 1, schedule: "none" } },
      schedule: { generator_steps: 1, total_training_steps: 4, test_frequency: 0 },
    }),
  );
  return loadTangoConfig(file);
}

/** Leaves the verifier positions for the longest question and critique and `room` tokens of a solution. */
async function setVerifierPositions(gpu: Gpu, config: TangoConfig, room: number): Promise<void> {
  const policies = await openPolicies(gpu, config);
  const { verifier } = policies;
  assert.ok(verifier);
  const problems = new TaskProblems(config.task, 1, { problems: 1, seed: 0 });
  const prompts = problems.draw(1, 300).map(({ question }) =>
    verifier.tokenizer.encode(verifier.template.render({ question, solution: "", steps: 9 })).length
  );
  releasePolicies(policies);
  const file = join(config.verifier?.model ?? "", "config.json");
  const written = JSON.parse(Deno.readTextFileSync(file));
  written.max_position_embeddings = Math.max(...prompts) + verifier.maximumResponse + room;
  Deno.writeTextFileSync(file, JSON.stringify(written));
}

/** Where a response's advantages change: they are constant up to a step's last token. */
const changes = (advantages: Float32Array) =>
  [...advantages.keys()].slice(0, -1).filter((i) => advantages[i] !== advantages[i + 1]);

async function generatorStepOf(gpu: Gpu, config: TangoConfig): Promise<void> {
  const policies = await openPolicies(gpu, config);
  const { generator, verifier } = policies;
  assert.ok(verifier);
  const problems = new TaskProblems(config.task, 1, { problems: 1, seed: 0 });
  const { judged, update } = await generatorStep(
    generator,
    verifier,
    problems.source,
    () => problems.draw(1, 6),
    {
      rollout: {
        batchSize: 6,
        groupSize: 3,
        maximumGenerationBatches: 1,
        verificationsPerSolution: 1,
      },
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
      judgments: "verifier",
      rewardModel: null,
      continuations: { count: 1, sampling: rolloutSampling(config, 3, 1) },
      alpha: 1,
      alphaIsEarned: false,
      judgmentQuality: null,
      reward: null,
      masking: { maskTruncated: false, dropZeroStd: false },
      loss: lossOptions(config, "generator", generator.maximumResponse),
      adamw: anyNumbers,
      during: (_, body) => body(),
      sampling: rolloutSampling(config, 1, 1),
      verifierSampling: rolloutSampling(config, 2, 1),
    },
  );
  releasePolicies(policies);
  assert.equal(update?.logProbDifferenceMax, 0);
  let [readable, straddled, changed] = [0, 0, 0];
  for (const { solution, critiques, reward, advantages, stepEndTokens } of judged) {
    const { text, tokenTexts, parsed } = solution;
    assert.equal(tokenTexts.join(""), text);
    // The verifier reads what the generator wrote, as far as it has tokens for it.
    const { tokenizer } = verifier;
    const read = tokenizer.decode(tokenizer.encode(text));
    assert.ok(tokenizer.decode(critiques[0].prompt).includes(read));
    if (read === text) readable++;
    parsed.steps.forEach(({ end }, step) => {
      const last = stepEndTokens[step];
      const before = tokenTexts.slice(0, last).join("").length;
      const after = before + tokenTexts[last].length;
      assert.ok(before < end && end <= after, `"${tokenTexts[last]}" ends step ${step} of ${text}`);
      if (after > end) straddled++;
    });
    // With α = 1 the advantage of a token is the sum of the rewards of the steps that end at or after it.
    const ends = reward.steps.length === 0 ? [] : stepEndTokens;
    const places = changes(advantages);
    assert.ok(places.every((place) => ends.includes(place)), `${places} of ${ends}`);
    changed += places.length;
  }
  assert.ok(readable > 0);
  assert.ok(straddled > 0, "no token holds a step's end and what follows it: nothing is tested");
  assert.ok(changed > 0, "no step reward changed an advantage: nothing is tested");
}

Deno.test({
  name: "two vocabularies: step rewards and log-probs are those of each policy's own tokens",
  // The device outlives a test on purpose: it is opened once per process.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    const folder = Deno.makeTempDirSync();
    try {
      const gpu = await gpuOf("native");
      const config = await configured(gpu, folder);
      await test.step("a generator step", () => generatorStepOf(gpu, config));
      await test.step("a run of both policies", async () => {
        const lines = await loggedRun(gpu, config, join(folder, "run"));
        assert.deepEqual(lines.map(({ phase }) => phase[0]).join(""), "gvgv");
        for (const line of lines) {
          assert.equal(line["sampling/logp_difference/max"], 0, `step ${line.step}`);
          assert.ok(Number(line[`${line.phase}/grad_norm`]) > 0, `step ${line.step}`);
        }
        assert.ok(lines.some((line) => Number(line["generator/frac_with_step_rewards"]) > 0));
      });
      await test.step("a verifier with fewer positions reads the beginning of a solution", async () => {
        const room = 8;
        await setVerifierPositions(gpu, config, room);
        const lines = await loggedRun(gpu, config, join(folder, "short"));
        assert.equal(lines.length, 4);
        for (const line of lines) {
          assert.equal(line["sampling/logp_difference/max"], 0, `step ${line.step}`);
          // Most solutions need more tokens of the verifier than there is room for.
          const cut = Number(line[`${line.phase}/solutions_cut`]);
          assert.ok(cut > 0.2, `step ${line.step}: ${cut}`);
        }
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
