import assert from "node:assert/strict";
import { COMMANDS } from "../../src/cli/commands.ts";
import { EXIT } from "../../src/cli/program.ts";
import { runCaptured } from "./run_captured.ts";

const GENERATOR = "--model somewhere";

const mistakes: Readonly<Record<string, readonly [line: string, message: RegExp][]>> = {
  train: [
    ["train --config none.yaml", /no file none\.yaml/],
    [
      "train --set rollout.batchsize=3",
      /batchsize is not a key; did you mean rollout\.batch_size\?/,
    ],
    [
      "train --set loss.kl_estimator=k1",
      /kl_estimator is "k1"; expected k2 or k3, because the gradient of k1 is 0 on average/,
    ],
    ["train --steps 0", /--steps: schedule\.total_training_steps is 0/],
    ["train --run nowhere --resume", /nowhere holds no run/],
    ["train --ranks 0", /'--ranks <number>' argument '0' is invalid/],
    ["train --ranks -1", /'--ranks <number>' argument '-1' is invalid/],
    [
      "train --ranks 1000",
      /1000 ranks train the generator and an update can be cut into 4 shards, .* Start at most 4/,
    ],
    [
      "train --ranks 9999",
      /9999 ranks train the generator and .* Start at most 4 for it\.$/,
    ],
    // Before a model is looked for, or a rank started.
    [
      "train --set rewards.module=no/such.ts --set generator.model=nowhere",
      /^no\/such\.ts: there is no such reward module/,
    ],
    [
      "train --ranks 2 --set rewards.module=src/base/failure.ts",
      /^src\/base\/failure\.ts: the reward module has no default export/,
    ],
    ["train --ranks 3 --set reduction.shards=2", /3 ranks train .* has 2 shards,/],
    [
      "train --ranks 2 --set placement.generator=0 --set placement.verifier=2",
      /there is no rank 2/,
    ],
    [
      "train --resume --seed 1 --steps 1",
      /--resume continues.*--steps, --seed cannot go with it.*--set can change is generator\./,
    ],
  ],
  sft: [
    ["sft --steps 0", /--steps: schedule\.total_training_steps is 0/],
    [
      "sft --set evaluate_every=9",
      /evaluate_every is not a key; did you mean schedule\.test_frequency\?/,
    ],
    ["sft --run nowhere --resume", /nowhere holds no run/],
    [
      "sft --set output_directory=weights/last-letter/generator",
      /there is a model in weights\/last-letter\/generator already, .*output_directory=null/,
    ],
    [
      "sft --ranks 2 --set batch_size=1",
      /2 ranks train the model and an update can be cut into 1 shards, /,
    ],
    ["sft --resume --steps 3", /--resume continues.*--steps cannot go with it/],
  ],
  eval: [
    ["eval", /Name either a model with --model or a run with --run/],
    [`eval ${GENERATOR} --policy both`, /'both' is invalid[^]*generator, verifier/],
    [`eval ${GENERATOR} --policy verifier`, /--generator/],
    [`eval ${GENERATOR} --generator other`, /--generator goes with --policy verifier/],
    [`eval ${GENERATOR} --k 0`, /'0' is invalid[^]*at least 1/],
    [`eval ${GENERATOR} --k 2 --temperature 0`, /--k 1/],
    [`eval ${GENERATOR} --temperature 0.5`, /decoded greedily: add --k 8/],
    [`eval ${GENERATOR} --task chess`, /'chess' is invalid[^]*last-letter, arithmetic/],
  ],
  generate: [
    [`generate ${GENERATOR}`, /Name a question and --model for an answer/],
    ["generate question", /Name a question and --model for an answer/],
    [
      `generate question ${GENERATOR} --set seed=1`,
      /--set changes a key .* name one with --config/,
    ],
    ["generate question --config none.yaml", /--config solves .* leave the question out/],
    [
      "generate --config none.yaml --count 2",
      /'--config <file>' cannot be used with option '--count/,
    ],
    ["generate --config none.yaml", /none\.yaml/],
    [`generate question ${GENERATOR} --cache-dtype q8`, /'q8' is invalid[^]*f32, f16, bf16/],
    [`generate question ${GENERATOR} --temperature warm`, /'warm' is invalid/],
    [`generate question ${GENERATOR} --prompt-template none.txt`, /none\.txt cannot be read/],
    [
      `generate question ${GENERATOR} --raw --prompt-template none.txt`,
      /'--prompt-template <file>' cannot be used with option '--raw'/,
    ],
  ],
  tune: [
    [
      "tune --model somewhere --set seed=1",
      /'--set <key=value>' cannot be used with option '--model/,
    ],
    ["tune --cache-dtype f16", /--cache-dtype says nothing without --model/],
    ["tune --set cache_dtype=q8", /cache_dtype is "?q8"?[^]*f32, f16, bf16/],
    ["tune --precision f16", /--precision says nothing without --model/],
  ],
  plan: [
    ["plan --gpu h100 --judgment-tokens 4", /says nothing without --problem-tokens/],
    [
      "plan --gpu h100 --set verifier=null --critique-tokens 4",
      /are of a verifier, and configs\/chains\.yaml has none/,
    ],
  ],
  benchmarks: [
    ["benchmarks", /missing required argument 'task'/],
    ["benchmarks show", /'show' is invalid[^]*pull, run/],
    [
      "benchmarks pull --model m --k 2",
      /--model, --k goes with benchmarks run, not with benchmarks pull/,
    ],
    [
      "benchmarks pull --only GSM8K",
      /--only GSM8K: expected one of MATH500, .*ProcessBench-omnimath, or a group/,
    ],
    ["benchmarks pull --suite none.yaml", /no file none\.yaml/],
    ["benchmarks run --model m", /Name the folder for answers and results with --output/],
    [
      "benchmarks run --output out",
      /Name a generator with --model, a verifier with --verifier, or both/,
    ],
    ["benchmarks run --verifier v --k 2 --output out", /--k samples a generator's answers/],
    [
      "benchmarks run --model m --only process --output out",
      /--model: none of the chosen benchmarks measures a generator\. Leave it out/,
    ],
    [
      "benchmarks run --verifier v --only AIME24 --output out",
      /AIME24 measures a generator: name one with --model/,
    ],
    [
      "benchmarks run --suite configs/chains.yaml --output out",
      /folder is missing; expected the path of a folder/,
    ],
    [
      "benchmarks run --suite tests/run/benchmarks/stand_ins/suite.yaml --model nowhere --output out",
      /--model: there is no nowhere; expected a model's folder or a \.gguf file/,
    ],
  ],
  bank: [
    ["bank", /missing required argument 'task'/],
    ["bank mix", /'mix' is invalid[^]*make, judge/],
    ["bank make --output b.jsonl", /Name the runs .* --run/],
    ["bank make --run nowhere", /Name the bank's file with --output/],
    ["bank make --run nowhere --output b.jsonl", /nowhere holds no run/],
    ["bank make --run nowhere --bank b.jsonl", /--bank goes with bank judge, not with bank make/],
    ["bank judge --problems 3", /--problems goes with bank make, not with bank judge/],
    ["bank judge --run nowhere", /Name the bank with --bank/],
    ["bank judge --bank none.jsonl --run nowhere", /The bank none\.jsonl cannot be read/],
    ["bank make --checkpoints late", /Expected steps such as 20,140,290/],
  ],
  compare: [
    ["compare --set verifier=null", /verifier is null/],
    ["compare --seeds 1,1", /different seeds/],
    ["compare --seeds 1,x", /'1,x' is invalid/],
    ["compare --seed 1", /unknown option '--seed'/],
    ["compare --run nowhere --resume --steps 3", /--steps cannot go with it/],
  ],
};

for (const [command, cases] of Object.entries(mistakes)) {
  Deno.test({
    name: `${command}: wrong usage exits 2 with one message`,
    // `generate` opens the GPU before it reads its template; a device keeps timers.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      for (const [line, message] of cases) {
        const { code, printed } = await runCaptured(COMMANDS, line.split(" "));
        assert.equal(code, EXIT.userError, `${line}\n${printed}`);
        assert.match(printed, message, line);
        assert.doesNotMatch(printed, /\n +at /, line);
      }
    },
  });
}

Deno.test("commands: each has --help with an example", async () => {
  // `bench` passes its options on, --help included.
  for (const command of Object.keys(COMMANDS).filter((name) => name !== "bench")) {
    const { code, printed } = await runCaptured(COMMANDS, [command, "--help"]);
    assert.equal(code, EXIT.success);
    assert.match(printed, new RegExp(`Examples:\\n +deno task ${command}`), command);
  }
});
