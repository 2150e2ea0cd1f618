import assert from "node:assert/strict";
import { parse } from "yaml";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { runRanks, tangoOnRanks, testEachLibrary } from "../../distributed/mpi/installations.ts";
import { assertSameFiles, KillableRuns } from "../../run/killable_runs.ts";
import { comparedFiles } from "../../run/ranks/rank_runs.ts";
import { withTinyProject } from "../../run/tiny_project.ts";

testEachLibrary(
  "train finds its rank under mpirun and leaves the bytes of one process",
  async (mpiexec) => {
    using runs = new KillableRuns("train");
    const gpu = await Gpu.open("auto");
    await withTinyProject(gpu, async ({ config }) => {
      const written: object = parse(Deno.readTextFileSync(config));
      const rewards = { generator_format_weight: 0.5, minimum_steps: 1 };
      runs.configure({ ...written, rewards, reduction: { shards: 2 } });
      await runs.train("one");
      const options = [
        "--config",
        runs.path("config.yaml"),
        "--seed",
        "1",
        "--run",
        runs.path("two"),
      ];
      const { code, printed } = await tangoOnRanks(mpiexec, 2, ["train", ...options]);
      assert.equal(code, 0, printed);
      assert.match(printed, / · 2 ranks, batches in 2 shards · /);
      assertSameFiles(runs.path("two"), runs.path("one"), comparedFiles);
    });
    gpu.close();
  },
);

testEachLibrary("a rank that fails before it joins the others ends them too", async (mpiexec) => {
  const module = new URL("./unable_rank.ts", import.meta.url).pathname;
  const { code, printed } = await runRanks(mpiexec, 3, [module, "train"]);
  assert.equal(code, 2, printed);
  assert.match(printed, /^rank 1 on .* cannot be opened: \/nowhere\/libmpi\.so/m);
});
