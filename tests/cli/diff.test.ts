/** `diff` of tiny runs that differ in one thing each. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import type { RunDifference } from "../../src/run/difference/run_difference.ts";
import { tinyColumns, tinyData } from "../run/tiny_data.ts";
import { tinyPolicies } from "../run/tiny_policies.ts";
import { runTo as run } from "./run_captured.ts";

const optimizer = { learning_rate: 0.003 };
const files = (path: string) => [{ path, columns: tinyColumns }];

const configuration = (train: string, heldOut: string, temperature = 1) => ({
  data: { train: files(train), held_out: files(heldOut), validation: null, shuffle: false },
  generator: { model: tinyPolicies.generator, max_response_length: 13, optimizer },
  verifier: { model: tinyPolicies.verifier, max_response_length: 20, optimizer },
  tuning: "default",
  rollout: { batch_size: 4, group_size: 4, temperature },
  schedule: {
    generator_steps: 2,
    total_training_steps: 4,
    test_frequency: 0,
    save_frequency: 1,
    keep_checkpoints: 9,
  },
  evaluation: { problems: 4 },
  samples_per_step: 16,
});

Deno.test({
  name: "diff: a setting, a row, a driver, a kernel and nothing at all",
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    const folder = Deno.makeTempDirSync();
    const path = (...names: string[]) => join(folder, ...names);
    const train = async (name: string, config: object) => {
      Deno.writeTextFileSync(path(`${name}.yaml`), stringify(config));
      await run(0, "train", "--config", path(`${name}.yaml`), "--run", path(name));
    };
    const found = async (code: number, other: string): Promise<RunDifference> =>
      JSON.parse(await run(code, "diff", path("run"), path(other), "--json"));
    try {
      const rows = tinyData(20).split("\n");
      // Steps 1 and 2 draw the first eight rows; step 3, of the verifier, the next four.
      const changed = rows.with(9, tinyData(1, 20));
      Deno.writeTextFileSync(path("rows.jsonl"), rows.join("\n"));
      Deno.writeTextFileSync(path("changed.jsonl"), changed.join("\n"));
      Deno.writeTextFileSync(path("held_out.jsonl"), tinyData(4, 30));
      const usual = configuration(path("rows.jsonl"), path("held_out.jsonl"));
      await train("run", usual);

      await test.step("the same run again", async () => {
        await train("again", usual);
        const printed = await run(0, "diff", path("run"), path("again"));
        assert.match(printed, /What they went by is the same/);
        assert.match(printed, /Up to step 4 every record is the same/);
      });

      await test.step("a setting", async () => {
        await train("cooler", configuration(path("rows.jsonl"), path("held_out.jsonl"), 0.9));
        const { settings, inputs, surroundings, parting, text, weights } = await found(1, "cooler");
        assert.deepEqual(settings, [{ key: "rollout.temperature", step: 0, a: 1, b: 0.9 }]);
        assert.deepEqual([inputs, surroundings], [[], []]);
        assert.deepEqual([parting?.record.step, parting?.part], [1, "solutions"]);
        assert.deepEqual(parting?.same, ["problems"]);
        assert.equal(text?.of, "solution");
        assert.ok(text.token !== null && text.token >= 1 && text.a.text !== text.b.text);
        assert.equal(weights?.step, 1);
        assert.ok(weights.a !== weights.b && weights.count > 0 && weights.count <= weights.size);
        const printed = await run(1, "diff", path("run"), path("cooler"));
        assert.match(printed, /setting rollout\.temperature: 1 and 0\.9/);
        assert.match(printed, /They part at step 1 \(generator\) of 4, first in solutions/);
      });

      await test.step("a row of the training data", async () => {
        await train("row", configuration(path("changed.jsonl"), path("held_out.jsonl")));
        const { settings, inputs, parting, text } = await found(1, "row");
        assert.deepEqual(settings.map(({ key }) => key), ["data.train[0].path"]);
        assert.deepEqual(inputs, [{
          key: "data.train[0]",
          a: path("rows.jsonl"),
          b: path("changed.jsonl"),
          line: 10,
        }]);
        assert.deepEqual([parting?.record.step, parting?.part], [3, "problems"]);
        assert.equal(text?.of, "problem");
      });

      await test.step("a driver, and a kernel that shows in no bit", async () => {
        const { driver, ...device } = JSON.parse(Deno.readTextFileSync(path("run", "device.json")));
        const tell = (name: string, told: string, rows: string) => {
          const variants = { gemm: { "many rows": rows, [name]: "only here" } };
          const text = JSON.stringify({ ...device, driver: told, variants });
          Deno.writeTextFileSync(path(name, "device.json"), text);
          const events = Deno.readTextFileSync(path(name, "events.jsonl"));
          const renamed = events.replace(/"driver":"[^"]*"/, `"driver":"${told}"`);
          Deno.writeTextFileSync(path(name, "events.jsonl"), renamed);
        };
        tell("run", driver, "32x64");
        tell("again", "Mesa 1.2.3", "16x64");
        const { surroundings, parting } = await found(0, "again");
        assert.deepEqual(surroundings, [
          { what: "driver", a: driver, b: "Mesa 1.2.3", isVisible: true },
          { what: "kernel for gemm of many rows", a: "32x64", b: "16x64", isVisible: false },
        ]);
        assert.equal(parting, null);
      });

      await test.step("a folder that holds no run", async () => {
        assert.match(await run(2, "diff", path("run"), path("nothing")), /holds no run/);
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
