/** Ranks that are processes of their own, under the system's mpiexec. */

import assert from "node:assert/strict";
import { parse } from "yaml";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { findMpiexec } from "../../../src/cli/ranks/mpiexec.ts";
import { assertSameFiles, KillableRuns } from "../killable_runs.ts";
import { withTinyProject } from "../tiny_project.ts";
import { comparedFiles } from "./rank_runs.ts";

const isHere = await findMpiexec() !== null;

Deno.test({
  name: "ranks: two processes leave the bytes of one, colocated and split" +
    (isHere ? "" : " (there is no mpiexec here; apt install mpich)"),
  ignore: !isHere,
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    using runs = new KillableRuns("train");
    const gpu = await Gpu.open("auto");
    await withTinyProject(gpu, async ({ config }) => {
      const written: object = parse(Deno.readTextFileSync(config));
      const rewards = { generator_format_weight: 0.5, minimum_steps: 1 };
      runs.configure({ ...written, rewards, reduction: { shards: 2 } });
      await runs.train("one");
      await runs.train("two", 1, ["--ranks", "2"]);
      assertSameFiles(runs.path("two"), runs.path("one"), comparedFiles);
      const apart = ["--ranks", "2", "--set", "placement={generator: 0, verifier: 1}"];
      await runs.trainUntilStopped("apart", 3, apart);
      // Who holds what is another matter each time.
      const refused = await runs.resume("apart");
      assert.equal(refused.code, 2, refused.output);
      assert.match(refused.output, /there is no rank 1; there are 1.*--set placement=null/);
      const { code, output } = await runs.resume("apart", undefined, ["--set", "placement=null"]);
      assert.equal(code, 0, output);
      assertSameFiles(runs.path("apart"), runs.path("one"), comparedFiles);
    });
    gpu.close();
  },
});
