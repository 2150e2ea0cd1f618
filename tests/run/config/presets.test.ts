import assert from "node:assert/strict";
import { join } from "node:path";
import { loadSftConfig, loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { planSftMemory } from "../../../src/run/memory/sft_memory_plan.ts";
import { planTangoMemory } from "../../../src/run/memory/tango_memory_plan.ts";
import { gpuOf } from "../../kernels/harness.ts";
import { publishedShapes, writeHollowModel } from "../hollow_model.ts";

/** What Vulkan drivers of hardware GPUs bind at least nowadays. */
const hardware = { maxStorageBufferBindingSize: 2 ** 31 - 4, maxBufferSize: 2 ** 31 - 4 };

const sizedFor8GB = {
  "smollm2-135m": "SmolLM2-135M-Instruct",
  "qwen2.5-0.5b": "Qwen2.5-0.5B",
  "qwen3-0.6b": "Qwen3-0.6B",
  "qwen2.5-1.5b": "Qwen2.5-1.5B",
};

Deno.test({
  name: "presets: those sized for 8 GB are planned to fit into it",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const gpu = (await gpuOf("native")).rehearsal(hardware);
    const folder = Deno.makeTempDirSync();
    try {
      const problems = join(folder, "problems.jsonl");
      // With the prompt templates, about as many characters as the presets allow tokens.
      const question = "x".repeat(100);
      const rows = Array.from({ length: 300 }, (_, n) => ({
        question: `${n}${question}`,
        answer: "a\n#### 1",
      }));
      Deno.writeTextFileSync(problems, rows.map((row) => JSON.stringify(row)).join("\n"));
      const data = `{path: ${problems}, format: gsm8k}`;
      for (const [preset, name] of Object.entries(sizedFor8GB)) {
        const model = join(folder, name);
        writeHollowModel(model, publishedShapes[name]);
        const set = [
          `data.train=[${data}]`,
          "data.held_out=[]",
          "data.maximum_prompt_tokens=1000",
        ];
        const train = loadTangoConfig(`configs/${preset}.yaml`, {
          set: [...set, `generator.model=${model}`, `verifier.model=${model}`],
        });
        const plan = await planTangoMemory(gpu, train);
        const shared = plan.resident.filter(({ what }) => what.startsWith("weights"));
        assert.equal(shared.length, 1, "one copy of the base");
        assert.ok(plan.peakBytes < 8e9, `${preset}: ${plan.peakBytes / 1e9} GB`);
        const sft = loadSftConfig(`configs/${preset}-sft.yaml`, {
          set: [...set, `initial_model=${model}`],
        });
        const { peakBytes } = await planSftMemory(gpu, sft);
        assert.ok(peakBytes < 8e9, `${preset}-sft: ${peakBytes / 1e9} GB`);
        console.log(
          `${preset}: ${(plan.peakBytes / 1e9).toFixed(2)} GB, fine-tuning ${
            (peakBytes / 1e9).toFixed(2)
          } GB`,
        );
      }
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test("presets: tango-qwen2.5-7b states the published run", () => {
  const {
    data,
    generator,
    verifier,
    rollout,
    loss,
    advantage,
    rewards,
    class_reweighting,
    schedule,
  } = loadTangoConfig("configs/tango-qwen2.5-7b.yaml");
  // arXiv 2505.15034 and its reference implementation.
  assert.equal(data?.maximum_prompt_tokens, 2048);
  assert.deepEqual(data?.train.map(({ format }) => format), ["eurus-2-rl"]);
  assert.deepEqual(
    data?.held_out.map(({ source }) => source),
    [
      "math500",
      "aime24",
      "aime25",
      "amc23",
      "olympiadbench",
      "bgqa",
      "cruxeval",
      "strategyqa",
      "tablebench",
    ],
  );
  assert.equal(generator.max_response_length, 2048);
  assert.equal(verifier?.max_response_length, 4096);
  for (const policy of [generator, verifier]) {
    assert.equal(policy?.optimizer.learning_rate, 1e-6);
    assert.equal(policy?.optimizer.schedule, "constant");
    assert.equal(policy?.optimizer.warmup_steps, 0);
    assert.equal(policy?.optimizer.max_gradient_norm, 1);
    assert.equal(policy?.lora, null);
  }
  assert.deepEqual(
    [
      rollout.batch_size,
      rollout.group_size,
      rollout.verifications_per_solution,
      rollout.temperature,
    ],
    [256, 5, 1, 1],
  );
  assert.deepEqual([loss.mini_batches, loss.epochs, loss.objective, loss.aggregation], [
    1,
    1,
    "ppo",
    "token-mean",
  ]);
  assert.deepEqual([loss.clip_ratio_low, loss.clip_ratio_high], [0.2, 0.2]);
  assert.deepEqual([loss.kl_coefficient, loss.kl_estimator, loss.entropy_coefficient], [
    0.001,
    "k3",
    0.001,
  ]);
  assert.equal(advantage.estimator, "grpo");
  assert.deepEqual(advantage.alpha, {
    initial: 0.1,
    minimum: 0.001,
    schedule: "exp",
    decay_fraction: 1,
  });
  assert.deepEqual([advantage.outcome_weight, advantage.process_weight], [1, 1]);
  assert.deepEqual(
    [rewards.ground_truth_weight, rewards.generator_format_weight, rewards.minimum_steps],
    [1, 0, 3],
  );
  assert.deepEqual([rewards.verifier_correctness_weight, rewards.verifier_format_weight], [1, 0.8]);
  assert.deepEqual(class_reweighting, { method: "sqrt_inverse", decay: 0.8 });
  assert.deepEqual(
    [
      schedule.generator_warmup_steps,
      schedule.verifier_warmup_steps,
      schedule.generator_steps,
      schedule.verifier_steps,
      schedule.total_training_steps,
    ],
    [0, 40, 3, 1, 440],
  );
  const sft = loadSftConfig("configs/tango-qwen2.5-7b-sft.yaml");
  assert.deepEqual([sft.batch_size, sft.optimizer.learning_rate], [64, 5e-6]);
  const longest = (sft.data?.maximum_prompt_tokens ?? 0) + (sft.data?.maximum_response_tokens ?? 0);
  assert.equal(longest, 4096);
});
