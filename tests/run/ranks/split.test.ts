/** Some ranks hold the generator, others the verifier: a run leaves the bytes that it leaves on one rank. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Sampler } from "../../../src/engine/sampling/sampler.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import type { Sample } from "../../../src/run/store/samples_log.ts";
import { assertSameFiles } from "../killable_runs.ts";
import { comparedFiles, RankRuns } from "./rank_runs.ts";

/** V (warm-up), then G G V: seven steps, with an evaluation after each second generator step. */
const course = {
  rollout: { batch_size: 5, group_size: 2, verifications_per_solution: 2 },
  loss: { kl_coefficient: 0.01 },
  schedule: {
    verifier_warmup_steps: 1,
    generator_steps: 2,
    verifier_steps: 1,
    total_training_steps: 7,
    test_frequency: 2,
    save_frequency: 2,
    keep_best: true,
  },
};

/** Also what only one rank held, which the first one has written. */
const files = [
  ...comparedFiles,
  "best/generator/model.safetensors",
  "best/verifier/model.safetensors",
];

const placed = (generator: string, verifier: string) => ({
  ...course,
  placement: { generator, verifier },
});

/** Counts what is asked of all samplers while `body` runs. */
async function countRequests(body: () => Promise<unknown>): Promise<number> {
  const { add } = Sampler.prototype;
  let count = 0;
  Sampler.prototype.add = function (request) {
    if (!this.model.gpu.isRehearsal) count++;
    return add.call(this, request);
  };
  try {
    await body();
  } finally {
    Sampler.prototype.add = add;
  }
  return count;
}

Deno.test({
  name: "split ranks: the bytes of one rank, whoever holds what, and also when resumed otherwise",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using runs = new RankRuns();
    const together = await runs.config(course);
    const asked = await countRequests(() => runs.train("whole", 1, together));
    for (const [name, generator, verifier] of [["a", "0-1", "2-3"], ["b", "1", "0"]]) {
      const config = await runs.config(placed(generator, verifier));
      const size = name === "a" ? 4 : 2;
      const askedApart = await countRequests(() => runs.train(name, size, config));
      assertSameFiles(runs.path(name), runs.path("whole"), files);
      assert.equal(askedApart, asked, "what was sampled ahead was not sampled again");
    }
    await runs.trainUntil("killed", 3, await runs.config(placed("0", "1-2")), 3);
    await runs.train("killed", 1, together, { resume: true });
    assertSameFiles(runs.path("killed"), runs.path("whole"), files);
  },
});

Deno.test({
  name: "split ranks: each sample says which version of which policy wrote it",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using runs = new RankRuns();
    await runs.train("run", 2, await runs.config(placed("0", "1")));
    const samples = readJsonLines<Sample>(RunFolder.open(runs.path("run")).samples);
    const versions = new Map(
      samples.filter(({ phase }) => phase !== "evaluation")
        .map(({ step, version, critiques: [{ version: judge }] }) => [step, [version, judge]]),
    );
    // V, then G G V G G V: each was sampled by what the steps before it had made.
    assert.deepEqual([...versions], [
      [1, [0, 0]],
      [2, [0, 1]],
      [3, [1, 1]],
      [4, [2, 1]],
      [5, [2, 2]],
      [6, [3, 2]],
      [7, [4, 2]],
    ]);
  },
});

Deno.test({
  name: "split ranks: further batches are judged once it is known which groups are left",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using runs = new RankRuns();
    const changes = { rollout: { maximum_generation_batches: 3 } };
    await runs.train("whole", 1, await runs.config(changes));
    const placement = { generator: "0", verifier: "1" };
    await runs.train("split", 2, await runs.config({ ...changes, placement }));
    assertSameFiles(runs.path("split"), runs.path("whole"), comparedFiles);
  },
});

Deno.test({
  name: "placement: ranks that are not there, idle, or shared by half are refused",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using runs = new RankRuns();
    const refused = async (generator: string, verifier: string, message: RegExp) => {
      const config = await runs.config({ placement: { generator, verifier } });
      await assert.rejects(runs.train(join("refused", generator + verifier), 4, config), {
        name: "UserError",
        message,
      });
    };
    await refused("0-1", "2-4", /placement\.verifier: there is no rank 4; there are 4/);
    await refused("0", "1-2", /placement: of 4 ranks, 3 would hold nothing/);
    await refused("0-2", "2-3", /placement: rank 2 is named for both policies and others are not/);
    await refused("3-1", "0", /placement\.generator: expected ranks such as/);
  },
});
