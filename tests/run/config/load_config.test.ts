import assert from "node:assert/strict";
import { stringify } from "yaml";
import {
  type ConfigOverrides,
  loadSftConfig,
  loadTangoConfig,
} from "../../../src/run/config/load_config.ts";
import { MINIMAL, problem, withFile } from "./yaml_text.ts";

const tango = (text: string, overrides?: ConfigOverrides) =>
  withFile(text, (path) => loadTangoConfig(path, overrides));

Deno.test("configuration: defaults fill in all but the weights, as the published run has them", () => {
  const config = tango(MINIMAL);
  assert.equal(config.rollout.group_size, 5);
  assert.equal(config.loss.kl_coefficient, 0.001);
  assert.equal(config.loss.kl_estimator, "k3");
  assert.deepEqual(config.advantage.alpha, {
    initial: 0.1,
    minimum: 0.001,
    schedule: "exp",
    decay_fraction: 1,
  });
  assert.equal(config.rewards.verifier_format_weight, 0.8);
  assert.equal(config.generator.optimizer.max_gradient_norm, 1);
  assert.equal(config.verifier?.trained, true);
});

Deno.test("configuration: the resolved one, written and read again, is the same", () => {
  const config = tango(MINIMAL + "seed: 7\n");
  assert.deepEqual(tango(stringify(config)), config);
});

Deno.test("configuration: ranks of one policy alone, or none that could be, are told", () => {
  const placed = (key: string) => problem(MINIMAL, { set: [`placement.${key}`] });
  assert.match(
    placed("generator=0"),
    /^\S+ placement\.verifier is missing; expected ranks such as/,
  );
  for (const wrong of ["all", "0.5", "-1"]) {
    assert.match(
      placed(`generator=${wrong}`),
      /placement\.generator is .*; expected ranks such as "0-1"/,
    );
  }
});

Deno.test("configuration: --set, --seed, --steps, --run and --gpu win over the file", () => {
  const config = tango(MINIMAL + "seed: 1\nschedule: {total_training_steps: 5}\n", {
    set: ["rollout.group_size=8", "generator.optimizer.betas=[0.9, 0.95]", "rollout.group_size=6"],
    seed: 42,
    steps: 11,
    run: "runs/here",
    gpu: "dawn",
  });
  assert.equal(config.rollout.group_size, 6);
  assert.deepEqual(config.generator.optimizer.betas, [0.9, 0.95]);
  assert.equal(config.seed, 42);
  assert.equal(config.schedule.total_training_steps, 11);
  assert.equal(config.run_directory, "runs/here");
  assert.equal(config.gpu, "dawn");
});

Deno.test("configuration: a frozen verifier that is to earn α judges all solutions", () => {
  const judged = (...set: string[]) =>
    tango(MINIMAL, { set: ["advantage.judged=wrong", "advantage.alpha.schedule=earned", ...set] })
      .advantage.judged;
  assert.equal(judged(), "wrong");
  assert.equal(judged("verifier.trained=false"), "all");
  assert.equal(judged("verifier.trained=false", "advantage.alpha.schedule=none"), "wrong");
});

Deno.test("configuration: one switch makes each baseline", () => {
  const grpo = tango(MINIMAL, { set: ["verifier=null"] });
  assert.equal(grpo.verifier, null);
  const frozen = tango(MINIMAL, { set: ["verifier.trained=false"] });
  for (const { schedule } of [grpo, frozen]) {
    assert.equal(schedule.verifier_steps, 0);
    assert.equal(schedule.verifier_warmup_steps, 0);
  }
  assert.equal(tango(MINIMAL, { set: ["advantage.alpha.initial=0"] }).advantage.alpha.initial, 0);
});

Deno.test("configuration: a missing file is named", () => {
  assert.throws(() => loadTangoConfig("no/such.yaml"), { message: /no\/such\.yaml.*--config/ });
});

Deno.test("fine-tuning configuration: keys of earlier versions, and of other sections, are named", () => {
  const meant = {
    "evaluate_every: 5": "schedule.test_frequency",
    "save_every: 5": "schedule.save_frequency",
    "steps: 5": "schedule.total_training_steps",
    "keep_best: true": "schedule.keep_best",
    "keep_checkpoints: 3": "schedule.keep_checkpoints",
    "epochs: 2": "schedule.epochs",
    "stop_at_accuracy: 0.5": "schedule.stop_at_accuracy",
    "micro_batch_tokens: 100": "loss.micro_batch_tokens",
    "gradient_checkpointing: true": "loss.gradient_checkpointing",
    "generator_prompt_template: a.txt": "prompt_template",
    "verifier_prompt_template: a.txt": "prompt_template",
    "verifier_labels: gold": "judgment_labels",
    "evaluation: {max_response_length: 9}": "max_response_length",
  };
  for (const [line, key] of Object.entries(meant)) {
    withFile(`policy: verifier\n${line}\n`, (path) => {
      assert.throws(() => loadSftConfig(path), {
        name: "UserError",
        message: new RegExp(`:2: [\\w.]+ is not a key; did you mean ${key}\\?$`),
      });
    });
  }
  assert.match(problem(MINIMAL + "steps: 5\n"), /did you mean schedule\.total_training_steps\?$/);
});

Deno.test("fine-tuning configuration: what chooses weights needs a validation part", () => {
  const text =
    "policy: generator\ninitial_model: m\ndata: {train: [{path: p}], validation: null}\n";
  withFile(text, (path) => {
    assert.equal(loadSftConfig(path).data?.validation, null);
    assert.throws(() => loadSftConfig(path, { set: ["schedule.keep_best=true"] }), {
      message: /data\.validation is null; expected a list of files, or \[\].*schedule\.keep_best/,
    });
  });
});

Deno.test("fine-tuning configuration: defaults, --steps, and impossible architectures", () => {
  withFile("policy: verifier\n", (path) => {
    const config = loadSftConfig(path, { steps: 5 });
    assert.equal(config.schedule.total_training_steps, 5);
    assert.equal(config.optimizer.learning_rate, 2e-3);
    assert.throws(() => loadSftConfig(path, { set: ["architecture.attention_heads=3"] }), {
      name: "UserError",
      message: /architecture\.hidden_size is 64; expected a multiple of 24[^]*key_value_heads is 2/,
    });
    assert.throws(() => loadSftConfig(path, { set: ["architecture.intermediate_size=50"] }), {
      name: "UserError",
      message: /architecture\.intermediate_size is 50; expected a multiple of 4/,
    });
  });
});

Deno.test("configuration: a file of the other kind is told as that, in one line", () => {
  assert.equal(
    problem("policy: generator\ninitial_model: weights/g\nbatch_size: 4\n"),
    "FILE configures a fine-tuning, which ./tango sft takes and whose weights lie in its output_directory; " +
      "expected the configuration of a training run.",
  );
  assert.throws(() => withFile(MINIMAL, (path) => loadSftConfig(path)), {
    name: "UserError",
    message: /configures a training run, which \.\/tango train takes; expected .* a fine-tuning\.$/,
  });
});
