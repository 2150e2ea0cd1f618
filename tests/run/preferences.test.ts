/** Direct preference optimisation on files: it tells pairs apart, and a killed run ends as one that was not. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { UserError } from "../../src/base/user_error.ts";
import { loraSchema } from "../../src/run/config/shared_schema.ts";
import { type SftConfig, sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { loadSftConfig } from "../../src/run/config/load_config.ts";
import { planSftMemory } from "../../src/run/memory/sft_memory_plan.ts";
import { fineTuneWithReport } from "../../src/run/session/sft_session.ts";
import { SftRun } from "../../src/run/sft/sft_run.ts";
import { listCheckpoints } from "../../src/run/store/checkpoint.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import { METRIC } from "../../src/run/store/metric_names.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { gpuOf, onEveryGpu } from "../kernels/harness.ts";
import { assertSameFiles, KillableRuns } from "./killable_runs.ts";
import { tinyPairs, writePairs } from "./tiny_pairs.ts";
import { withTinyProject } from "./tiny_project.ts";

const configuration = (model: string, data: ReturnType<typeof writePairs>) => ({
  policy: "generator",
  initial_model: model,
  data,
  preferences: { beta: 0.2 },
  batch_size: 4,
  schedule: { total_training_steps: 12, test_frequency: 6, save_frequency: 4 },
  optimizer: { learning_rate: 0.01 },
  evaluation: { problems: 8 },
});

const linesOf = (folder: RunFolder) => readJsonLines<MetricsLine>(folder.metrics);

onEveryGpu(
  "preferences on files: held-out pairs are told apart, by all weights and by an adapter",
  async (gpu) => {
    await withTinyProject(gpu, async ({ generator, folder }) => {
      const data = writePairs((name) => join(folder, name));
      const learn = async (name: string, changes: Partial<SftConfig>) => {
        const config = { ...sftConfigSchema.parse(configuration(generator, data)), ...changes };
        const run = RunFolder.at(join(folder, name));
        assert.equal(await fineTuneWithReport(gpu, config, run.path, { resume: false }), true);
        const evaluations = linesOf(run).filter(({ phase }) => phase === "evaluation");
        const [first] = evaluations, last = evaluations[evaluations.length - 1];
        // The model as it began is its own reference.
        assert.equal(first[METRIC.heldOutLoss], Math.log(2));
        assert.equal(first[METRIC.heldOutPreferenceAccuracy], 0.5);
        assert.equal(last[METRIC.heldOutPreferenceAccuracy], 1);
        assert.ok(Number(last[METRIC.heldOutLoss]) < 0.5, `${last[METRIC.heldOutLoss]}`);
        const [step] = linesOf(run).filter(({ phase }) => phase === "generator");
        assert.equal(step[METRIC.supervisedLoss], Math.log(2));
        assert.match(Deno.readTextFileSync(run.report), /^# Direct preference optimisation/);
        assert.match(Deno.readTextFileSync(run.report), /updates of 4 pairs/);
        return await planSftMemory(gpu, config);
      };
      // What is frozen may be rounded; the reference of weights that are trained is not.
      const whole = await learn("whole", { frozen_dtype: "float16" });
      const resident = (plan: typeof whole) => plan.resident.map(({ what }) => what);
      assert.ok(resident(whole).includes("reference of the generator"), `${resident(whole)}`);
      const lora = loraSchema.parse({ rank: 4, alpha: 8 });
      const adapted = await learn("adapted", { lora });
      // The weights that an adapter leaves as they are are its reference.
      assert.ok(!resident(adapted).includes("reference of the generator"), `${resident(adapted)}`);
    });
  },
);

onEveryGpu(
  "preferences on files: pairs fit whole or not at all, and several belong to a question",
  async (gpu) => {
    await withTinyProject(gpu, async ({ generator, folder }) => {
      const path = join(folder, "odd.jsonl");
      const rows = tinyPairs(3).split("\n").map((line) => JSON.parse(line));
      const [{ prompt, chosen, rejected }] = rows;
      // The same question with another pair, one too long to be rejected, and one without a rejected response.
      rows.push({ prompt, chosen: rejected, rejected: chosen });
      rows.push({ ...rows[1], rejected: rows[1].chosen });
      rows.push(rows[2]);
      rows.push({ ...rows[1], rejected: "x".repeat(300) });
      rows.push({ prompt: "of none", chosen, rejected: null });
      Deno.writeTextFileSync(path, rows.map((row) => JSON.stringify(row)).join("\n"));
      const other = writePairs((name) => join(folder, name));
      const data = { train: [{ path }], held_out: other.held_out, validation: null };
      const config = sftConfigSchema.parse({
        ...configuration(generator, other),
        data: { ...data, maximum_response_tokens: 64 },
      });
      const run = await SftRun.open(gpu, config);
      try {
        assert.equal(run.examples.count, 5);
        const some = run.examples.some(9);
        assert.equal(some.length, 2 * 4, "one is too long");
        for (let pair = 0; pair < some.length; pair += 2) {
          assert.deepEqual(some[pair].prompt, some[pair + 1].prompt);
          assert.notDeepEqual(some[pair].response, some[pair + 1].response);
        }
        assert.match(run.examples.report ?? "", /no rejected response/);
        assert.match(run.examples.report ?? "", /1 dropped: both responses are equal/);
        assert.match(run.examples.report ?? "", /1 dropped: duplicate/);
      } finally {
        run.close();
      }
    });
  },
);

Deno.test("preferences: what they cannot go with is refused by name", () => {
  const data = { train: [{ path: "pairs.jsonl" }] };
  const set = (values: Record<string, unknown>) =>
    Object.entries({ preferences: {}, initial_model: "m", data, policy: "generator", ...values })
      .map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  const refused = (values: Record<string, unknown>, message: RegExp) =>
    assert.throws(
      () => loadSftConfig("configs/word-problems-generator-sft.yaml", { set: set(values) }),
      (error) => error instanceof UserError && message.test(error.message),
    );
  refused({ data: null }, /expected null, because .*no pairs of responses/);
  refused({ policy: "verifier" }, /expected null, because .*critiques are made up/);
  refused(
    { initial_model: null, lora: null, tokenizer: "t" },
    /expected null, because .*random weights/,
  );
  refused(
    { data: { ...data, response: "steps" } },
    /expected null, because .*data\.response is steps/,
  );
  refused({ preferences: { beta: 0 } }, /preferences\.beta/);
});

Deno.test({
  name: "preferences on files: a run that was killed ends as one that was not",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    using runs = new KillableRuns("sft");
    await withTinyProject(await gpuOf("native"), async ({ generator }) => {
      runs.configure(configuration(generator, writePairs((name) => runs.path(name))));
      await runs.trainUntilKilled("killed", 10, { options: ["--steps", "9000"] });
      const folder = RunFolder.open(runs.path("killed"));
      const steps = String((listCheckpoints(folder.checkpoints).at(-1)?.step ?? NaN) + 3);
      const config = Deno.readTextFileSync(folder.configuration);
      Deno.writeTextFileSync(folder.configuration, config.replace("9000", steps));
      const { code, output } = await runs.resume("killed");
      assert.equal(code, 0, output);
      await runs.train("whole", 1, ["--steps", steps]);
      const files = ["metrics.jsonl", "generator/model.safetensors"];
      assertSameFiles(runs.path("killed"), runs.path("whole"), files);
    });
  },
});
