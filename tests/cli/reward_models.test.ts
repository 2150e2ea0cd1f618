/** Reward models in the verifier's place: runs, their audit, and what measures them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import type { Sample } from "../../src/run/store/samples_log.ts";
import { tinyPolicies, tinyTask } from "../run/tiny_policies.ts";
import { runTo as run } from "./run_captured.ts";

const optimizer = { learning_rate: 0.003 };
const common = {
  task: tinyTask,
  generator: { model: tinyPolicies.generator, max_response_length: 48, optimizer },
  tuning: "default",
  rollout: { batch_size: 4, group_size: 4, candidates: 4 },
  loss: { kl_coefficient: 0, mini_batches: 2 },
  // Steps 1 to 6: V G G V G G.
  schedule: {
    verifier_warmup_steps: 1,
    generator_steps: 2,
    total_training_steps: 6,
    test_frequency: 2,
    save_frequency: 2,
    keep_checkpoints: 4,
  },
  evaluation: { problems: 24 },
  samples_per_step: 2,
};

const kinds = {
  outcome: {
    ...common,
    verifier: { kind: "outcome", model: tinyPolicies.verifier, optimizer },
    advantage: { alpha: { initial: 0, schedule: "none" } },
    rewards: { ground_truth_weight: 0.5 },
  },
  implicit: {
    ...common,
    verifier: { kind: "implicit", model: tinyPolicies.generator, optimizer },
    class_reweighting: { method: "none", pool: 16 },
    advantage: {
      estimator: "rloo",
      process: "token-to-go",
      alpha: { initial: 0.5, schedule: "none" },
    },
  },
};

for (const [kind, configuration] of Object.entries(kinds)) {
  Deno.test({
    name: `reward model, ${kind}: it learns, its steps are done again to the bit, it is measured`,
    // A device keeps timers.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async (test) => {
      const folder = Deno.makeTempDirSync();
      const file = join(folder, "run.yaml"), trained = join(folder, "run");
      try {
        Deno.writeTextFileSync(file, stringify(configuration));
        await run(0, "train", "--config", file, "--run", trained);
        const { metrics, samples } = RunFolder.open(trained);
        const lines = readJsonLines<MetricsLine>(metrics);

        await test.step("its steps say what it says, and what it learned", () => {
          const steps = lines.filter(({ phase }) => phase !== "evaluation");
          assert.equal(steps.map(({ phase }) => phase[0]).join(""), "vggvgg");
          const verifier = steps.filter(({ phase }) => phase === "verifier");
          for (const line of verifier) {
            assert.ok(Number(line["verifier/grad_norm"]) > 0);
            const share = Number(line["verifier/solutions_correct"]);
            assert.equal("verifier/quality_auroc" in line, share > 0 && share < 1);
            assert.equal(line["verifier/skipped_updates"], 0);
          }
          // At first an implicit model is its own reference: every logit is 0, and the loss log 2.
          const first = Number(verifier[0]["verifier/loss"]);
          if (kind === "implicit") assert.equal(first, Math.log(2));
          assert.notEqual(verifier[1]["verifier/loss"], first);
          if (kind === "implicit") assert.equal(verifier[1]["verifier/frac_from_pool"], 1);
          for (const line of steps.filter(({ phase }) => phase === "generator")) {
            assert.ok("generator/score" in line);
            assert.equal("generator/step_reward" in line, kind === "implicit");
            assert.equal(line["sampling/logp_difference/max"], 0);
          }
          const evaluated = lines.filter(({ phase }) => phase === "evaluation");
          assert.ok(evaluated.every((line) => "eval/verifier/balanced_accuracy" in line));
          assert.equal("eval/verifier/step_auroc_in_wrong_by_place" in evaluated[0], false);
        });

        await test.step("its samples have the score, the generator's reward goes by it", () => {
          const all = readJsonLines<Sample>(samples);
          const [one] = all.filter(({ phase }) => phase === "generator");
          const { score = NaN, ground_truth = NaN, outcome } = one.rewards ?? {};
          assert.ok(score > 0 && score < 1);
          const weight = kind === "outcome" ? 0.5 : 1;
          const expected = weight * ground_truth + (1 - weight) * score;
          assert.ok(Math.abs(Number(outcome) - expected) < 1e-12);
          assert.equal(one.stepRewards?.length, kind === "implicit" ? one.steps.length : 0);
          const [judged] = all.filter(({ phase }) => phase === "verifier");
          assert.ok(judged.rewards && "score" in judged.rewards);
        });

        await test.step("audit does every step again", async () => {
          const said = await run(0, "audit", trained, "--steps", "6");
          assert.match(
            said,
            /the same {2}step 4 \(verifier\): problems, solutions, grades, scores, update/,
          );
          assert.match(said, /the same {2}the checkpoint of step 6/);
          assert.doesNotMatch(said, /differ/);
        });

        await test.step("eval measures it, alone and as it chooses", async () => {
          const end = lines.findLast(({ phase }) => phase === "evaluation") ?? {};
          const asked = ["eval", "--run", trained, "--json"];
          const alone = JSON.parse(await run(0, ...asked, "--policy", "verifier"));
          // The same problems; their solutions have the random numbers of step 0.
          assert.ok("eval/verifier/loss" in alone.metrics && "eval/verifier/loss" in end);
          assert.notEqual(alone.metrics["eval/verifier/loss"], Math.log(2));
          const chosen = JSON.parse(await run(0, ...asked, "--verifier", "--k", "4"));
          assert.ok("eval/generator/vote_at_4" in chosen.metrics);
          assert.ok("eval/verifier/quality_auroc" in chosen.metrics);
          const generator = await run(0, ...asked, "--policy", "generator");
          assert.ok("eval/generator/accuracy" in JSON.parse(generator).metrics);
        });

        await test.step("what takes critiques is refused", async () => {
          const bank = ["bank", "make", "--run", trained, "--problems", "4", "--output"];
          await run(0, ...bank, join(folder, "bank.jsonl"));
          const judge = ["bank", "judge", "--bank", join(folder, "bank.jsonl"), "--run", trained];
          assert.match(await run(2, ...judge), /is a reward model .*writes no critiques/);
          const again = ["eval", "--run", trained, "--verifier", "--rewrites", "1"];
          assert.match(await run(2, ...again), /--rewrites takes a verifier that writes critiques/);
          const verify = ["verify", "--run", trained, "ab"];
          assert.match(await run(2, ...verify), /is a reward model .*writes no critiques/);
        });
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
    },
  });
}
