/** The plan of a run on files: what it looks at is what will be trained on. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { loadSftConfig, loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { planSftMemory } from "../../../src/run/memory/sft_memory_plan.ts";
import { planTangoMemory } from "../../../src/run/memory/tango_memory_plan.ts";
import { train } from "../../../src/run/loop/training_loop.ts";
import { TangoRun } from "../../../src/run/tango/tango_run.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withTinyProject } from "../tiny_project.ts";

const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).join("\n");

/** A question of so many letters; different letters, different questions. */
const question = (length: number, letter = "a") => letter.repeat(length);

onEveryGpu(
  "memory plan: problems that the models have no positions for are passed over",
  async (gpu) => {
    await withTinyProject(gpu, async ({ config: file, folder }) => {
      const path = join(folder, "problems.jsonl");
      const rows = ["a", "b", "c", "d"].map((letter) => ({
        question: question(20, letter),
        answer: "1",
      }));
      // The models have 256 positions. The generator can be asked the first of these, but not the verifier.
      const long = [245, 250, 600].map((length) => ({ question: question(length), answer: "1" }));
      const heldOut = join(folder, "held.jsonl");
      Deno.writeTextFileSync(heldOut, lines([{ question: "held out", answer: "1" }]));
      const data = `data={train: [{path: ${path}}], held_out: [{path: ${heldOut}}]}`;
      const planned = async (set: readonly string[]) => {
        const config = loadTangoConfig(file, {
          set: [data, "data.maximum_prompt_tokens=1000", "schedule.total_training_steps=6", ...set],
        });
        return { config, plan: await planTangoMemory(gpu, config) };
      };
      Deno.writeTextFileSync(path, lines(rows));
      const { plan: short } = await planned([]);
      Deno.writeTextFileSync(path, lines([...long, ...rows]));
      const { plan, config } = await planned([]);
      assert.equal(plan.peakBytes, short.peakBytes);
      const run = await TangoRun.open(gpu, config);
      // 12 problems, thrice all that fit: the long ones are met.
      assert.equal(await train(run, RunFolder.create(join(folder, "run"), config)), true);
      run.close();
      const alone = await planned(["verifier=null"]);
      assert.ok(alone.plan.peakBytes > 0);
      // A held-out problem's prompt counts too.
      Deno.writeTextFileSync(heldOut, lines([{ question: question(200, "z"), answer: "1" }]));
      const { plan: held } = await planned([]);
      assert.ok(held.peakBytes > plan.peakBytes);
    });
  },
);

onEveryGpu(
  "memory plan: the longest prompt and response of fine-tuning need not fit together",
  async (gpu) => {
    await withTinyProject(gpu, async ({ sftConfig: file, folder, generator }) => {
      const path = join(folder, "examples.jsonl");
      const rows = [[150, 10], [10, 150], [8, 8], [9, 9]].map(([asked, answered], i) => ({
        question: question(asked, "abcd"[i]),
        solution: question(answered, "z"),
      }));
      Deno.writeTextFileSync(path, lines(rows));
      const heldOut = join(folder, "held.jsonl");
      Deno.writeTextFileSync(heldOut, lines([{ question: "held out", solution: "z" }]));
      const config = loadSftConfig(file, {
        set: [
          `initial_model=${generator}`,
          `data={train: [{path: ${path}}], held_out: [{path: ${heldOut}}]}`,
          "evaluation.problems=1",
        ],
      });
      assert.ok((await planSftMemory(gpu, config)).peakBytes > 0);
    });
  },
);
