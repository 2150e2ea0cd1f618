import assert from "node:assert/strict";
import type { ConfigOverrides } from "../../../src/run/config/load_config.ts";
import { MINIMAL, problem } from "./yaml_text.ts";

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
    "rewards of tokens from a verifier that has none",
    MINIMAL + "advantage: {process: token-to-go}\n",
    {},
    'FILE:5: advantage.process is "token-to-go"; expected sum-to-go, own-step, until-error, first-error or ' +
    "first-error-soft, because rewards of tokens come from a verifier.kind implicit alone.",
  ],
  [
    "an implicit reward model credited by steps",
    MINIMAL.replace("verifier:", "verifier:\n  kind: implicit") +
    "advantage: {process: own-step}\n",
    {},
    'FILE:6: advantage.process is "own-step"; expected token-to-go, because verifier.kind is implicit.',
  ],
  [
    "prompts of its own for an implicit reward model",
    MINIMAL.replace("verifier:", "verifier:\n  kind: implicit\n  chat: true") +
    "advantage: {process: token-to-go}\n",
    {},
    "FILE:5: verifier.chat is true; expected false as generator.chat is, because verifier.kind implicit " +
    "reads the generator's own prompts.",
  ],
  [
    "a longest prompt for an implicit reward model",
    MINIMAL.replace("verifier:", "verifier:\n  kind: implicit\n  maximum_prompt_tokens: 64") +
    "advantage: {process: token-to-go}\n",
    {},
    "FILE:5: verifier.maximum_prompt_tokens is 64; expected null, because verifier.kind implicit " +
    "reads the generator's own prompts.",
  ],
  [
    "a divergence of a reward model",
    MINIMAL.replace("verifier:", "verifier:\n  kind: outcome\n  kl_coefficient: 0.1") +
    "advantage: {alpha: {initial: 0}}\n",
    {},
    "FILE:5: verifier.kl_coefficient is 0.1; expected null, because verifier.kind outcome learns by " +
    "cross-entropy, without a divergence.",
  ],
  [
    "judgments of steps by an outcome reward model",
    MINIMAL.replace("verifier:", "verifier:\n  kind: outcome"),
    {},
    "FILE: advantage.alpha.initial is 0.1; expected 0, because verifier.kind outcome judges no steps " +
    "(or advantage.judgments constant, oracle or prefix).",
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
