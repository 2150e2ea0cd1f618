/**
 * `tango-qwen2.5-7b` and its fine-tuning against what arXiv 2505.15034 and its reference implementation
 * state, value by value, and the schema's defaults against the same list.
 */

import assert from "node:assert/strict";
import { loadSftConfig, loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { sftConfigSchema } from "../../../src/run/config/sft_config_schema.ts";

const PRESET = "configs/tango-qwen2.5-7b.yaml";

/** Of both policies. */
const POLICY = {
  lora: null,
  chat: false,
  system_prompt: null,
  "optimizer.learning_rate": 1e-6,
  "optimizer.betas": [0.9, 0.999],
  "optimizer.weight_decay": 0.01,
  "optimizer.max_gradient_norm": 1,
  "optimizer.warmup_steps": 0,
  "optimizer.warmup_share": 0,
  "optimizer.schedule": "constant",
};

const of = (policy: string, values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [`${policy}.${key}`, value]));

const PUBLISHED: Readonly<Record<string, unknown>> = {
  ...of("generator", POLICY),
  ...of("verifier", POLICY),
  "verifier.trained": true,
  "data.validation": null,
  "data.maximum_prompt_tokens": 2048,
  "generator.max_response_length": 2048,
  "verifier.max_response_length": 4096,
  "verifier.maximum_prompt_tokens": 4096,
  "rollout.batch_size": 256,
  "rollout.group_size": 5,
  "rollout.verifications_per_solution": 1,
  "rollout.maximum_generation_batches": 1,
  "rollout.temperature": 1,
  "rollout.top_k": 0,
  "rollout.top_p": 1,
  "rollout.min_p": 0,
  "loss.objective": "ppo",
  "loss.aggregation": "token-mean",
  "loss.clip_ratio_low": 0.2,
  "loss.clip_ratio_high": 0.2,
  "loss.kl_coefficient": 0.001,
  "loss.kl_estimator": "k3",
  "loss.entropy_coefficient": 0.001,
  // A mini-batch is the batch of 256.
  "loss.mini_batches": 1,
  "loss.epochs": 1,
  "loss.mask_truncated": false,
  "advantage.estimator": "grpo",
  "advantage.alpha.initial": 0.1,
  "advantage.alpha.minimum": 0.001,
  "advantage.alpha.schedule": "exp",
  "advantage.alpha.decay_fraction": 1,
  "advantage.outcome_weight": 1,
  "advantage.process_weight": 1,
  "rewards.module": null,
  "rewards.ground_truth_weight": 1,
  "rewards.generator_format_weight": 0,
  "rewards.minimum_steps": 3,
  "rewards.overlong_buffer": 0,
  "rewards.verifier_correctness_weight": 1,
  "rewards.verifier_format_weight": 0.8,
  "rewards.verifier_judgment": "final",
  "rewards.verifier_steps": "none",
  "class_reweighting.method": "sqrt_inverse",
  "class_reweighting.decay": 0.8,
  "class_reweighting.scale": "batch",
  "class_reweighting.pool": 0,
  "schedule.generator_warmup_steps": 0,
  "schedule.verifier_warmup_steps": 40,
  "schedule.generator_steps": 3,
  "schedule.verifier_steps": 1,
  "schedule.total_training_steps": 440,
  "schedule.test_frequency": 10,
  "schedule.save_frequency": 50,
  // Every benchmark whole, greedily.
  "evaluation.problems": null,
  "evaluation.samples": 1,
};

/** The defaults that serve the embedded tasks, or a machine, instead of stating the published run. */
const OTHER_DEFAULTS = [
  "data.maximum_prompt_tokens",
  "data.validation",
  "evaluation.problems",
  "generator.max_response_length",
  "generator.optimizer.learning_rate",
  "rollout.batch_size",
  "schedule.save_frequency",
  "schedule.total_training_steps",
  "schedule.verifier_warmup_steps",
  "verifier.max_response_length",
  "verifier.maximum_prompt_tokens",
  "verifier.optimizer.learning_rate",
];

function valueAt(config: unknown, path: string): unknown {
  return path.split(".").reduce((value, key) => (value as Record<string, unknown>)[key], config);
}

Deno.test("published run: the preset states it value by value", () => {
  const config = loadTangoConfig(PRESET);
  for (const [path, value] of Object.entries(PUBLISHED)) {
    assert.deepEqual(valueAt(config, path), value, path);
  }
  assert.equal(config.generator.model, "models/tango-qwen2.5-7b-sft");
  assert.equal(config.verifier?.model, "models/Qwen2.5-7B");
  assert.deepEqual(config.data?.train.map(({ format }) => format), ["eurus-2-rl"]);
  assert.deepEqual(
    config.data?.held_out.map(({ format, source, limit }) => [format, source, limit]),
    [
      ["math500", "math500", null],
      ["aime", "aime24", null],
      ["aime", "aime25", null],
      ["amc", "amc23", null],
      ["olympiadbench", "olympiadbench", null],
      ["bgqa", "bgqa", null],
      ["cruxeval", "cruxeval", null],
      ["strategyqa", "strategyqa", null],
      ["tablebench", "tablebench", null],
    ],
  );
});

const PUBLISHED_FINE_TUNING: Readonly<Record<string, unknown>> = {
  lora: null,
  chat: false,
  system_prompt: null,
  batch_size: 64,
  "schedule.epochs": 2,
  "optimizer.learning_rate": 5e-6,
  "optimizer.betas": [0.9, 0.95],
  "optimizer.schedule": "cosine",
  "optimizer.warmup_share": 0.1,
  "optimizer.warmup_steps": 0,
  // What keeps a sequence at 4096 is the model's positions.
  "data.maximum_prompt_tokens": 4096,
  "data.maximum_response_tokens": 4096,
  "data.response": "steps",
};

const OTHER_FINE_TUNING_DEFAULTS = [
  "data.maximum_prompt_tokens",
  "data.maximum_response_tokens",
  "data.response",
  "optimizer.betas",
  "optimizer.learning_rate",
  "optimizer.schedule",
  "optimizer.warmup_share",
  "schedule.epochs",
];

Deno.test("published run: its fine-tuning too", () => {
  const config = loadSftConfig("configs/tango-qwen2.5-7b-sft.yaml");
  for (const [path, value] of Object.entries(PUBLISHED_FINE_TUNING)) {
    assert.deepEqual(valueAt(config, path), value, path);
  }
  assert.equal(config.policy, "generator");
  assert.equal(config.initial_model, "models/Qwen2.5-Math-7B");
  // As many updates as two passes take are never more than this.
  assert.ok(config.schedule.total_training_steps * config.batch_size > 2 * 1_000_000);
  const training = loadTangoConfig(PRESET);
  assert.equal(training.generator.model, config.output_directory);
  assert.equal(training.generator.prompt_template, config.prompt_template);
});

Deno.test("published run: prompts are raw text that ask for the format", () => {
  const { generator, verifier } = loadTangoConfig(PRESET);
  const asked = Deno.readTextFileSync(generator.prompt_template);
  for (const part of ["<think>", "<step>", "</think>", "<answer>\\boxed{", "{{ question }}"]) {
    assert.ok(asked.includes(part), part);
  }
  assert.ok(verifier);
  const judged = Deno.readTextFileSync(verifier.prompt_template);
  for (
    const part of [
      "<step_verification>",
      "<final_verification>\\boxed{",
      "{{ question }}",
      "{{ solution }}",
      "{{ steps }}",
    ]
  ) assert.ok(judged.includes(part), part);
  for (const text of [asked, judged]) assert.doesNotMatch(text, /<\|im_start\|>|\[INST\]/);
});

Deno.test("published run: its RLOO and REINFORCE++ are settings that the preset names", () => {
  const text = Deno.readTextFileSync(PRESET).replaceAll(/\n#\s+--set/g, " --set");
  const settingsOf = (name: string) => {
    const line = text.split("\n").find((line) => line.startsWith(`#   ${name} `));
    assert.ok(line, name);
    return [...line.matchAll(/--set (\S+)/g)].map(([, setting]) => setting);
  };
  const differing = (set: readonly string[]) => {
    const config = loadTangoConfig(PRESET, { set });
    return Object.fromEntries(
      Object.entries(PUBLISHED).filter(([path, value]) => valueAt(config, path) !== value)
        .filter(([, value]) => !Array.isArray(value))
        .map(([path]) => [path, valueAt(config, path)]),
    );
  };
  assert.deepEqual(differing(settingsOf("RLOO")), {
    "advantage.estimator": "rloo",
    "advantage.process_weight": 10,
  });
  assert.deepEqual(differing(settingsOf("REINFORCE++")), {
    "advantage.estimator": "reinforce++",
    "advantage.alpha.initial": 0.5,
    "loss.kl_estimator": "k2",
    "loss.entropy_coefficient": 0,
  });
  assert.equal(loadTangoConfig(PRESET, { set: settingsOf("GRPO alone") }).verifier, null);
});

/** Keys whose defaults are not what was published. */
const differing = (defaults: unknown, published: Readonly<Record<string, unknown>>) =>
  Object.entries(published)
    .filter(([path, value]) => JSON.stringify(valueAt(defaults, path)) !== JSON.stringify(value))
    .map(([path]) => path);

/** The page of keys has a row of each that says what was published. */
function assertSaid(part: string, paths: readonly string[], words: string): void {
  for (const path of paths) {
    const keys = path.split(".");
    const section = keys.slice(0, -1).join(".");
    const [, rows = ""] = part.split(new RegExp(`^### \`${section}\`.*$`, "m"));
    const lines = rows.split(/^###/m)[0].split("\n")
      .filter((line) => line.startsWith(`| \`${keys.at(-1)}\` |`));
    // The optimizer of both policies is one section of the page.
    const isShown = section !== "verifier.optimizer";
    assert.ok(!isShown || lines.some((line) => line.includes(words)), `${path}: ${lines}`);
  }
}

Deno.test("published run: a default is its value, or the page of keys says what the run had", () => {
  const data = { train: [{ path: "p" }] };
  const defaults = tangoConfigSchema.parse({
    generator: { model: "g" },
    verifier: { model: "v" },
    data,
  });
  assert.deepEqual(differing(defaults, PUBLISHED).toSorted(), OTHER_DEFAULTS);
  const ofSft = sftConfigSchema.parse({ policy: "generator", initial_model: "m", data });
  assert.deepEqual(
    differing(ofSft, PUBLISHED_FINE_TUNING).toSorted(),
    OTHER_FINE_TUNING_DEFAULTS,
  );
  const [training, fineTuning] = Deno.readTextFileSync("docs/configuration.md")
    .split("\n## Fine-tuning\n");
  assertSaid(training, OTHER_DEFAULTS, "published run");
  assertSaid(fineTuning, OTHER_FINE_TUNING_DEFAULTS, "published fine-tuning");
});
