import assert from "node:assert/strict";
import { join } from "node:path";
import { parse } from "yaml";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import { startCommand } from "../../../src/cli/ranks/mpiexec.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { testEachLibrary } from "../../distributed/mpi/installations.ts";
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
      const main = join(PROJECT_FOLDER, "src/cli/main.ts");
      const options = [
        "--config",
        runs.path("config.yaml"),
        "--seed",
        "1",
        "--run",
        runs.path("two"),
      ];
      const program = [Deno.execPath(), "run", "-A", "--no-check", main, "train", ...options];
      const { command, args, env } = startCommand(mpiexec, 2, program);
      const { code, stdout, stderr } = await new Deno.Command(command, {
        args,
        env,
        clearEnv: true,
      })
        .output();
      const [out, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
      assert.equal(code, 0, out + errors);
      assert.match(out, / · 2 ranks · /);
      assertSameFiles(runs.path("two"), runs.path("one"), comparedFiles);
    });
    gpu.close();
  },
);
