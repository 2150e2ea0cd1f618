import assert from "node:assert/strict";
import { stringify } from "yaml";
import { UserError } from "../../../src/base/user_error.ts";
import {
  type ConfigOverrides,
  loadSftConfig,
  loadTangoConfig,
} from "../../../src/run/config/load_config.ts";

const MINIMAL = "generator:\n  model: weights/g\nverifier:\n  model: weights/v\n";

/** Runs `body` with the path of a YAML file of this text, then removes it. */
function withFile<Result>(text: string, body: (path: string) => Result): Result {
  const path = Deno.makeTempFileSync({ suffix: ".yaml" });
  try {
    Deno.writeTextFileSync(path, text);
    return body(path);
  } finally {
    Deno.removeSync(path);
  }
}

const tango = (text: string, overrides?: ConfigOverrides) =>
  withFile(text, (path) => loadTangoConfig(path, overrides));

/** The message of the UserError that loading gives, with the temporary path shortened to FILE. */
function problem(text: string, overrides?: ConfigOverrides): string {
  return withFile(text, (path) => {
    try {
      loadTangoConfig(path, overrides);
    } catch (error) {
      assert.ok(error instanceof UserError, String(error));
      return error.message.replaceAll(path, "FILE");
    }
    throw new Error("the configuration was accepted");
  });
}

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

const refused: [string, string, ConfigOverrides, string][] = [
  [
    "an unknown key, with the nearest valid one",
    MINIMAL + "rollout:\n  temperature: 1\n  groupsize: 5\n",
    {},
    "FILE:7: rollout.groupsize is not a key; did you mean rollout.group_size?",
  ],
  [
    "an unknown key inside a section that may be null",
    MINIMAL + "  trainde: false\n",
    {},
    "FILE:5: verifier.trainde is not a key; did you mean verifier.trained?",
  ],
  [
    "an unknown key like none",
    MINIMAL + "rewards: {qqqq: 1}\n",
    {},
    "FILE:5: rewards.qqqq is not a key; valid here: module, ground_truth_weight, " +
    "generator_format_weight, minimum_steps, overlong_buffer, overlong_penalty, " +
    "verifier_correctness_weight, verifier_format_weight, verifier_judgment, verifier_steps, " +
    "prefix_continuations, verifier_step_weight.",
  ],
  [
    "a KL estimator that teaches nothing",
    MINIMAL + "loss: {kl_estimator: k1}\n",
    {},
    'FILE:5: loss.kl_estimator is "k1"; expected k2 or k3, because the gradient of k1 is 0 on average, ' +
    "wherever the reference is: it only adds noise.",
  ],
  [
    "a wrong type",
    MINIMAL + "rollout:\n  group_size: many\n",
    {},
    'FILE:6: rollout.group_size is "many"; expected a whole number, at least 1.',
  ],
  [
    "a fraction where a whole number belongs",
    MINIMAL,
    { set: ["rollout.group_size=2.5"] },
    "--set rollout.group_size=2.5: rollout.group_size is 2.5; expected a whole number, at least 1.",
  ],
  [
    "infinity",
    MINIMAL,
    { set: ["generator.optimizer.learning_rate=.inf"] },
    "--set generator.optimizer.learning_rate=.inf: generator.optimizer.learning_rate is Infinity; " +
    "expected a number, greater than 0.",
  ],
  [
    "a value out of range in a list",
    MINIMAL,
    { set: ["verifier.optimizer.betas=[0.9, 1]"] },
    "--set verifier.optimizer.betas=[0.9, 1]: verifier.optimizer.betas[1] is 1; expected a number, " +
    "at least 0 and less than 1.",
  ],
  [
    "a word that is not offered",
    MINIMAL + "advantage: {estimator: gae}\n",
    {},
    'FILE:5: advantage.estimator is "gae"; expected one of grpo, dr_grpo, rloo, reinforce++.',
  ],
  [
    "a section that is no mapping",
    MINIMAL + "task: last-letter\n",
    {},
    'FILE:5: task is "last-letter"; expected keys (name, minimum_steps, ',
  ],
  [
    "more distractors than there are names",
    MINIMAL + "task: {name: chains, maximum_steps: 6, distractors: 2}\n",
    {},
    "FILE:5: task.distractors is 2; expected at most 1, because chains of 6 steps leave no more names.",
  ],
  [
    "sentences to shuffle where there is one",
    MINIMAL + "task: {name: arithmetic, shuffled: true}\n",
    {},
    "FILE:5: task.shuffled is true; expected false, because a question of the task arithmetic is one sentence.",
  ],
  [
    "a missing key",
    "generator: {}\nverifier: null\n",
    {},
    "FILE:1: generator.model is missing; expected the path of a folder with model.safetensors, " +
    "config.json and tokenizer.json, or of a .gguf file.",
  ],
  [
    "a bad --seed",
    MINIMAL,
    { seed: -1 },
    "--seed: seed is -1; expected a whole number, at least 0 and at most 4294967295.",
  ],
  [
    "a bad engine",
    MINIMAL,
    { gpu: "cuda" },
    '--gpu: gpu is "cuda"; expected one of auto, native, dawn.',
  ],
  [
    "oracle judgments about problems of files",
    MINIMAL + "data: {train: [{path: problems.jsonl}]}\nadvantage: {judgments: oracle}\n",
    {},
    'FILE:6: advantage.judgments is "oracle"; expected verifier, permuted, constant or prefix, because steps of ' +
    "problems from files have no true labels to train on (an embedded task's have, with data: null).",
  ],
  [
    "an oracle's accuracy without the oracle",
    MINIMAL + "advantage: {oracle_accuracy: 0.8}\n",
    {},
    "FILE:5: advantage.oracle_accuracy is 0.8; expected 1, because advantage.judgments is verifier.",
  ],
  [
    "verdicts that solutions earn by and do not get",
    MINIMAL + "advantage: {judged: wrong}\nrewards: {ground_truth_weight: 0.5}\n",
    {},
    'FILE:5: advantage.judged is "wrong"; expected all, because with rewards.ground_truth_weight ' +
    "below 1 each solution earns by its verdict.",
  ],
  [
    "step rewards to merge where there are none",
    MINIMAL + "advantage: {process: first-error, normalisation: merged}\n",
    {},
    'FILE:5: advantage.normalisation is "merged"; expected separate, because advantage.process ' +
    "first-error has no step rewards of its own to merge.",
  ],
  [
    "judgments that cannot earn",
    MINIMAL + "advantage: {judgments: constant, alpha: {schedule: earned}}\n",
    {},
    'FILE:5: advantage.alpha.schedule is "earned"; expected exp, linear, cosine or none, because ' +
    "advantage.judgments constant earns nothing.",
  ],
  [
    "changes of value that would earn by what they are made of",
    MINIMAL + "advantage: {judgments: prefix, alpha: {schedule: earned}}\n",
    {},
    'FILE:5: advantage.alpha.schedule is "earned"; expected exp, linear, cosine or none, because ' +
    "advantage.judgments prefix is made of outcomes, and would always agree with them.",
  ],
  [
    "changes of value that flag no step",
    MINIMAL + "advantage: {judgments: prefix, process: first-error-soft}\n",
    {},
    'FILE:5: advantage.process is "first-error-soft"; expected own-step or sum-to-go, because ' +
    "advantage.judgments prefix tells changes of value, and flags no step.",
  ],
  [
    "a group of one",
    MINIMAL + "rollout: {group_size: 1}\n",
    {},
    "FILE:5: rollout.group_size is 1; expected at least 2, because advantage.estimator grpo compares " +
    "the responses of a group.",
  ],
  [
    "mini-batches that do not divide the batch",
    MINIMAL + "rollout: {batch_size: 10}\nloss: {mini_batches: 3}\n",
    {},
    "FILE:6: loss.mini_batches is 3; expected a divisor of rollout.batch_size, which is 10.",
  ],
  [
    "an adapter for a verifier that is not trained",
    "generator: {model: a}\nverifier:\n  model: b\n  trained: false\n  lora: {rank: 8}\n",
    {},
    "FILE:5: verifier.lora is ",
  ],
  [
    "a rank that the kernels cannot use",
    "verifier: null\ngenerator:\n  model: a\n  lora: {rank: 6}\n",
    {},
    "FILE:4: generator.lora.rank is 6; expected a multiple of 4, as the kernels need.",
  ],
  [
    "an overlong buffer beyond the longest response",
    MINIMAL + "rewards: {overlong_buffer: 999}\n",
    {},
    "FILE:5: rewards.overlong_buffer is 999; expected at most generator.max_response_length, which is 128.",
  ],
  [
    "keeping the best of no evaluations",
    MINIMAL + "schedule: {keep_best: true, test_frequency: 0}\n",
    {},
    "FILE:5: schedule.keep_best is true; expected false, because with schedule.test_frequency 0 nothing " +
    "is evaluated.",
  ],
  [
    "a --set without a value",
    MINIMAL,
    { set: ["rollout.group_size"] },
    "--set rollout.group_size: expected key.path=value, such as --set rollout.group_size=8.",
  ],
  [
    "a --set into a number",
    MINIMAL + "seed: 3\n",
    { set: ["seed.value=3"] },
    "--set seed.value=3: seed is 3, which has no keys inside it. Set it as a whole instead.",
  ],
  [
    "broken YAML",
    "generator: {model: a\nseed: 1\n",
    {},
    "FILE:2 is not valid YAML: ",
  ],
  [
    "a key given twice",
    "seed: 1\nseed: 2\n",
    {},
    "FILE:2 is not valid YAML: Map keys must be unique",
  ],
  ["a file that is a list", "- 1\n", {}, "FILE must hold keys and values"],
];

for (const [what, text, overrides, expected] of refused) {
  Deno.test(`configuration: ${what} is refused with a clear message`, () => {
    const message = problem(text, overrides);
    assert.ok(message.startsWith(expected), `found    ${message}\nexpected ${expected}`);
    assert.ok(!expected.endsWith(".") || message === expected, message);
  });
}

Deno.test("configuration: every problem gets a line of its own", () => {
  const message = problem(MINIMAL + "sede: 1\nrollout: {top_p: 2, topk: 1}\n");
  assert.deepEqual(message.split("\n").map((line) => line.split(" ")[1]).sort(), [
    "rollout.top_p",
    "rollout.topk",
    "sede",
  ]);
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
