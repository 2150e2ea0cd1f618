/** `audit` of a tiny run: as it was left, and with one thing changed at a time. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { stringify } from "yaml";
import { readRecords } from "../../src/run/audit/records.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { tinyPolicies, tinyTask } from "../run/tiny_policies.ts";
import { runTo as run } from "./run_captured.ts";

const optimizer = { learning_rate: 0.003 };
const configuration = {
  task: tinyTask,
  generator: { model: tinyPolicies.generator, max_response_length: 13, optimizer },
  verifier: { model: tinyPolicies.verifier, max_response_length: 20, optimizer },
  tuning: "default",
  rollout: { batch_size: 4, group_size: 4 },
  // Steps 1 to 7: G G V G G V G.
  schedule: {
    generator_steps: 2,
    total_training_steps: 7,
    test_frequency: 2,
    save_frequency: 2,
    keep_checkpoints: 2,
  },
  evaluation: { problems: 5 },
  samples_per_step: 2,
};

/** Changes a file of a copy of the run. */
interface Change {
  readonly what: string;
  readonly file: string;
  readonly change: (text: string) => string;
  /** What is said of it. */
  readonly said: RegExp;
  /** Things that do not fit; 1 by default. */
  readonly findings?: number;
}

const changes: readonly Change[] = [
  {
    what: "a setting",
    file: "config.yaml",
    change: (text) => text.replace("learning_rate: 0.003", "learning_rate: 0.004"),
    said: /config\.yaml: generator is not what the run began with/,
  },
  {
    what: "a sample",
    file: "samples.jsonl",
    change: (text) => text.replace('"referenceAnswer":"', '"referenceAnswer":"x'),
    said: /samples\.jsonl: what it says of the evaluation after step 0 is not/,
  },
  {
    what: "a metric",
    file: "metrics.jsonl",
    change: (text) => text.replace(/("step":3,.*?"verifier\/reward":)[\d.]+/, "$10.987"),
    said: /metrics\.jsonl: what it says of step 3 \(verifier\) is not/,
  },
  {
    what: "a metric, and its record too",
    file: "audit.jsonl",
    change: (text) => text.replace(/("step":3,"phase":"verifier".*?"metrics":")\w/, "$1f"),
    said: /audit\.jsonl:\d+: the chain breaks at step 3 \(verifier\)/,
    findings: 2,
  },
  {
    what: "a section that is gone",
    file: "config.yaml",
    change: (text) => text.replace(/^rewards:\n( .*\n)+/m, ""),
    said: /config\.yaml: rewards is not what the run began with/,
  },
  {
    what: "an evaluation that is added",
    file: "metrics.jsonl",
    change: (text) => `{"step":1,"phase":"evaluation","eval/generator/accuracy":1}\n${text}`,
    said: /metrics\.jsonl: what it says of the evaluation after step 1 the run did not write/,
  },
  {
    what: "a line that breaks off",
    file: "metrics.jsonl",
    change: (text) => text.replace('"step":3', '"step:3'),
    said: /metrics\.jsonl:\d+ is damaged/,
  },
  {
    what: "the last record",
    file: "audit.jsonl",
    change: (text) => text.replace(/.*\n$/, ""),
    said: /audit\.jsonl: the chain does not end as .*report\.md tells/,
  },
  {
    what: "a record among others",
    file: "audit.jsonl",
    change: (text) => text.replace(/\{"step":1,"phase":"weights".*\n/, ""),
    said: /audit\.jsonl:4: the chain breaks at step 2 \(generator\)/,
  },
  {
    what: "the state of a checkpoint",
    file: "checkpoints/step-000005/state.json",
    change: (text) => {
      const { sha256: _, ...facts } = JSON.parse(text);
      return JSON.stringify({ ...facts, state: { ...facts.state, problemPosition: 99 } });
    },
    said: /step-000005: the state of step 5 is not the one that the run saved/,
  },
  {
    what: "settings that are said to have changed on the way",
    file: "config-history.jsonl",
    change: () => '{"step":4,"settings":{"rollout.temperature":0.5}}\n',
    said: /config-history\.jsonl: the settings that change in step 4 are not/,
  },
];

Deno.test({
  name: "audit: a run as it was left, and one with a byte changed",
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async (test) => {
    const folder = Deno.makeTempDirSync();
    const path = (...names: string[]) => join(folder, ...names);
    const copy = (name: string) => {
      copyFolder(path("run"), path(name));
      return path(name);
    };
    try {
      Deno.writeTextFileSync(path("run.yaml"), stringify(configuration));
      await run(0, "train", "--config", path("run.yaml"), "--run", path("run"));

      await test.step("nothing was changed, and its steps give the same bytes", async () => {
        const printed = await run(0, "audit", path("run"), "--steps", "7", "--reach", "7");
        assert.match(printed, /as written/);
        const records = readRecords(RunFolder.at(path("run")));
        assert.ok(printed.includes(records[records.length - 1].chain));
        // Every record but those of the beginning and of the models at the end was made anew.
        assert.equal(printed.match(/the same {2}/g)?.length, records.length - 2, printed);
        assert.doesNotMatch(printed, /within reach|differs|changed/);
        assert.match(printed, /step 3 \(verifier\): problems, solutions, grades, critiques/);
      });

      await test.step("steps out of reach are told of", async () => {
        const printed = await run(0, "audit", path("run"), "--reach", "1");
        assert.match(printed, /2 of 7 recorded steps are at most 1 behind/);
      });

      for (const { what, file, change, said, findings = 1 } of changes) {
        await test.step(`${what} was changed`, async () => {
          const changed = join(copy(what), file);
          const text = file === "config-history.jsonl" ? "" : Deno.readTextFileSync(changed);
          const now = change(text);
          assert.notEqual(now, text);
          Deno.writeTextFileSync(changed, now);
          const printed = await run(1, "audit", path(what), "--steps", "0");
          assert.match(printed, said);
          assert.equal(printed.match(/changed {2}/g)?.length, findings, printed);
        });
      }

      await test.step("a weight of a checkpoint was changed: steps are done again without it", async () => {
        const changed = join(copy("weights"), "checkpoints/step-000005/verifier.safetensors");
        const bytes = Deno.readFileSync(changed);
        bytes[bytes.length - 5] ^= 1;
        Deno.writeFileSync(changed, bytes);
        const printed = await run(1, "audit", path("weights"), "--steps", "7", "--reach", "7");
        assert.match(printed, /verifier\.safetensors: the weights of step 5 are not those/);
        assert.doesNotMatch(printed, /differs/);
      });

      await test.step("a model that the run left", async () => {
        const model = join(copy("model"), "generator/model.safetensors");
        const bytes = Deno.readFileSync(model);
        bytes[bytes.length - 5] ^= 1;
        Deno.writeFileSync(model, bytes);
        const printed = await run(1, "audit", path("model"), "--steps", "0");
        assert.match(printed, /generator: the model is not the one that the run left/);
      });

      await test.step("settings that changed on the way: done again as they were", async () => {
        const resumed = copy("resumed");
        Deno.removeSync(join(resumed, "checkpoints/step-000007"), { recursive: true });
        Deno.removeSync(join(resumed, "report.md"));
        const setting = "rollout.temperature=0.5";
        await run(0, "train", "--run", resumed, "--resume", "--set", setting);
        const printed = await run(0, "audit", resumed, "--steps", "7", "--reach", "7");
        assert.match(printed, /the same {2}step 6 \(verifier\): settings, problems/);
        const parted = await run(1, "diff", path("run"), resumed);
        assert.match(
          parted,
          /setting rollout\.temperature, changed from step 6 on: not said and 0\.5/,
        );
        assert.match(parted, /They part at step 6 \(verifier\) of 7, first in settings/);
      });

      await test.step("a run of an earlier version that goes on: its records begin there", async () => {
        const upgraded = copy("upgraded");
        Deno.removeSync(join(upgraded, "audit.jsonl"));
        const file = join(upgraded, "checkpoints/step-000005/state.json");
        const { sha256: _, ...facts } = JSON.parse(Deno.readTextFileSync(file));
        const { chain: _c, ...state } = facts.state;
        Deno.writeTextFileSync(file, JSON.stringify({ ...facts, state }));
        // Resumed twice from there: the second time begins the records anew.
        for (let time = 1; time <= 2; time++) {
          Deno.removeSync(join(upgraded, "checkpoints/step-000007"), { recursive: true });
          Deno.removeSync(join(upgraded, "report.md"));
          await run(0, "train", "--run", upgraded, "--resume");
        }
        const records = readRecords(RunFolder.at(upgraded));
        assert.deepEqual([records[0].phase, records[0].step], ["start", 5]);
        const printed = await run(0, "audit", upgraded, "--steps", "7");
        assert.match(printed, /the same {2}step 6/);
        assert.match(printed, /the same {2}step 7/);
        assert.doesNotMatch(printed, /step 1|of recorded steps/);
        assert.match(await run(0, "diff", path("run"), upgraded), /Up to step 7 every record/);
      });

      await test.step("a fine-tuning", async () => {
        const tuning = {
          ...{ policy: "generator", initial_model: tinyPolicies.generator, task: tinyTask },
          ...{ batch_size: 4, optimizer, evaluation: { problems: 4 }, max_response_length: 13 },
          schedule: { total_training_steps: 3, test_frequency: 2, save_frequency: 2 },
        };
        Deno.writeTextFileSync(path("sft.yaml"), stringify(tuning));
        await run(0, "sft", "--config", path("sft.yaml"), "--run", path("sft"));
        const printed = await run(0, "audit", path("sft"));
        assert.match(printed, /the same {2}step 3 \(generator\): examples, metrics/);
        assert.match(printed, /the same {2}the checkpoint of step 2: generator, state/);
        assert.doesNotMatch(printed, /differs|changed/);
      });

      await test.step("a run that was made by other settings than it says", async () => {
        const other = {
          ...configuration,
          rollout: { batch_size: 4, group_size: 4, temperature: 0.9 },
        };
        Deno.writeTextFileSync(path("other.yaml"), stringify(other));
        await run(0, "train", "--config", path("other.yaml"), "--run", path("other"));
        const forged = copy("forged");
        Deno.copyFileSync(path("other", "config.yaml"), join(forged, "config.yaml"));
        const printed = await run(1, "audit", forged, "--steps", "1", "--seed", "1");
        assert.match(printed, /config\.yaml: rollout is not/);
        assert.match(
          printed,
          /differs {2}step \d \(\w+\): first in solutions; then in .*the same: problems/,
        );
      });

      await test.step("a run of an earlier version, and one that is none", async () => {
        Deno.removeSync(join(copy("earlier"), "audit.jsonl"));
        assert.match(await run(2, "audit", path("earlier")), /kept no records/);
        Deno.writeTextFileSync(path("earlier", "audit.jsonl"), "");
        assert.match(await run(2, "audit", path("earlier")), /ended before its first record/);
        assert.match(await run(2, "diff", path("run"), path("earlier")), /ended before its first/);
        assert.match(await run(2, "audit", path("nothing")), /holds no run/);
      });
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

function copyFolder(from: string, to: string): void {
  Deno.mkdirSync(to);
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (isDirectory) copyFolder(join(from, name), join(to, name));
    else Deno.copyFileSync(join(from, name), join(to, name));
  }
}
