/** A verifier's fine-tuning judges a generator's own solutions, besides the file's and made-up mistakes. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { UserError } from "../../src/base/user_error.ts";
import { sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { planSftMemory, sftShrinks } from "../../src/run/memory/sft_memory_plan.ts";
import { fineTuneWithReport } from "../../src/run/session/sft_session.ts";
import { SftRun } from "../../src/run/sft/sft_run.ts";
import { listCheckpoints } from "../../src/run/store/checkpoint.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { openModelSource } from "../../src/model/weights/model_source.ts";
import { onEveryGpu } from "../kernels/harness.ts";
import { tinyData } from "./tiny_data.ts";
import { tinyPolicies } from "./tiny_policies.ts";

const PROBLEMS = 12;

onEveryGpu(
  "own solutions: what a generator writes is judged, also by a run that goes on",
  async (gpu) => {
    const folder = Deno.makeTempDirSync();
    try {
      const path = join(folder, "train.jsonl");
      Deno.writeTextFileSync(path, tinyData(40));
      const columns = {
        ...{ question: "question", answer: "answer", solution_steps: "steps", comparison: "text" },
      };
      const asked = {
        ...{
          model: tinyPolicies.generator,
          problems: PROBLEMS,
          samples: 4,
          max_response_length: 40,
        },
      };
      const configuration = (own: object | null, others: object = {}) =>
        sftConfigSchema.parse({
          policy: "verifier",
          initial_model: tinyPolicies.verifier,
          data: { train: [{ path, columns }] },
          critiques: "worked",
          correct_share: 0,
          batch_size: 3,
          evaluation: { problems: 3 },
          schedule: { total_training_steps: 4, test_frequency: 4, save_frequency: 2 },
          own_solutions: own,
          tuning: "default",
          ...others,
        });
      using source = await openModelSource(tinyPolicies.verifier);
      const tokenizer = source.tokenizer();
      /** The prompts of the first problems, sampled or not. */
      const drawn = async (config: ReturnType<typeof configuration>) => {
        const run = await SftRun.open(gpu, config);
        try {
          const counts = await run.own?.sample();
          const examples = run.examples.draw(1, PROBLEMS);
          return { prompts: examples.map(({ prompt }) => tokenizer.decode(prompt)), counts };
        } finally {
          run.close();
        }
      };
      const without = await drawn(configuration(null));
      const { prompts, counts } = await drawn(configuration(asked));
      assert.ok(counts && counts.wrong > 0 && counts.right > 0, JSON.stringify(counts));
      assert.equal(counts.right + counts.wrong + counts.leftOut, PROBLEMS * 4);
      const changed = prompts.filter((prompt, i) => prompt !== without.prompts[i]);
      assert.ok(changed.length > 0 && changed.length <= counts.wrong, `${changed.length}`);

      // A run that stops and goes on, another generator in the place of its own, ends as one that went through.
      const linesOf = async (name: string, config: ReturnType<typeof configuration>) => {
        const run = RunFolder.at(join(folder, name));
        assert.equal(await fineTuneWithReport(gpu, config, run.path, { resume: false }), true);
        return readJsonLines<MetricsLine>(run.metrics);
      };
      const whole = await linesOf("whole", configuration(asked));
      assert.equal(
        whole.find(({ step }) => step === 1)?.["data/own_wrong_solutions"],
        counts.wrong,
      );
      assert.equal(whole.filter((line) => "data/own_wrong_solutions" in line).length, 1);
      await linesOf(
        "half",
        configuration(asked, {
          schedule: { total_training_steps: 2, test_frequency: 4, save_frequency: 2 },
        }),
      );
      const half = RunFolder.at(join(folder, "half"));
      assert.equal(listCheckpoints(half.checkpoints).at(-1)?.step, 2);
      // It solves nothing, which would be an error.
      const other = configuration({ ...asked, model: tinyPolicies.verifier });
      assert.equal(await fineTuneWithReport(gpu, other, half.path, { resume: true }), true);
      const resumed = readJsonLines<MetricsLine>(half.metrics);
      const losses = (lines: readonly MetricsLine[]) =>
        lines.filter(({ phase }) => phase === "verifier").map((line) => line["sft/loss"]);
      assert.equal(losses(whole).length, 4);
      assert.deepEqual(losses(resumed), losses(whole));
      assert.notDeepEqual(losses(await linesOf("plain", configuration(null))), losses(whole));

      const { phases } = await planSftMemory(gpu, configuration(asked));
      const sampling = phases.find(({ what }) => what === "sampling solutions to judge");
      assert.ok(sampling && sampling.bytes > 0);
      const set = (config: ReturnType<typeof configuration>) =>
        sftShrinks.flatMap((shrink) => Object.keys(shrink(config)?.set ?? {})).join();
      assert.match(set(configuration(asked)), /decode_slots/);
      assert.doesNotMatch(set(configuration(null)), /decode_slots/);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);

onEveryGpu("own solutions: what cannot be sampled or read is said", async (gpu) => {
  const folder = Deno.makeTempDirSync();
  try {
    const path = join(folder, "train.jsonl");
    Deno.writeTextFileSync(path, tinyData(20));
    const columns = { question: "question", answer: "answer", solution_steps: "steps" };
    const configuration = (own: object, others: object = {}) =>
      sftConfigSchema.parse({
        policy: "verifier",
        initial_model: tinyPolicies.verifier,
        data: { train: [{ path, columns }] },
        critiques: "worked",
        own_solutions: { model: tinyPolicies.generator, problems: 4, ...own },
        ...others,
      });
    const fails = async (own: object, message: RegExp) => {
      const run = await SftRun.open(gpu, configuration(own));
      try {
        await assert.rejects(
          run.own?.sample() ?? Promise.resolve(),
          (error) => error instanceof UserError && message.test(error.message),
        );
      } finally {
        run.close();
      }
    };
    await fails({ max_response_length: 100_000 }, /own_solutions: the question/);
    await fails({ max_response_length: 2 }, /none of 8 solutions .* is in the format/);
    await fails({ model: join(folder, "gone") }, /gone/);
    assert.throws(
      () => configuration({}, { critiques: "judgments" }),
      /critiques of a generator's own solutions are worked ones/,
    );
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
