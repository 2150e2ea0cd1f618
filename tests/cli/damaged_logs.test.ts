/** What was lost of a run's logs and best weights is said when it goes on, and in its report. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { removeIfPresent } from "../../src/platform/files/atomic_file.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { listCheckpoints } from "../../src/run/store/checkpoint.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { gpuOf } from "../kernels/harness.ts";
import { withTinyProject } from "../run/tiny_project.ts";
import { runCaptured } from "./run_captured.ts";

Deno.test({
  name: "train: lost and damaged lines and best weights are said at --resume and in the report",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () =>
    await withTinyProject(await gpuOf("native"), async (project) => {
      const folder = RunFolder.at(join(project.folder, "run"));
      const set = ["save_frequency=1", "keep_checkpoints=5", "keep_best=true"]
        .flatMap((one) => ["--set", `schedule.${one}`]);
      const begin = ["train", "--config", project.config, "--run", folder.path, ...set];
      const begun = await runCaptured(COMMANDS, begin);
      assert.equal(begun.code, 0, begun.printed);
      assert.doesNotMatch(Deno.readTextFileSync(folder.report), /warning/);

      for (const { step, path } of listCheckpoints(folder.checkpoints)) {
        if (step > 4) removeIfPresent(path);
      }
      const change = (path: string, changed: (line: string) => string) =>
        Deno.writeTextFileSync(path, Deno.readTextFileSync(path).replace(/.*\n/g, changed));
      const isOf = (line: string, step: number) =>
        line.startsWith(`{"step":${step},`) && !line.includes('"evaluation"');
      change(folder.metrics, (line) => isOf(line, 2) ? "rubbish\n" : line);
      change(folder.samples, (line) => isOf(line, 1) || isOf(line, 3) ? "" : line);
      const best = join(folder.best("generator"), "model.safetensors");
      Deno.truncateSync(best, 1000);

      const { code, printed } = await runCaptured(COMMANDS, [
        "train",
        "--run",
        folder.path,
        "--resume",
      ]);
      assert.equal(code, 0, printed);
      const said = [
        `${folder.metrics}: 1 damaged line (3) was set aside in ${folder.metrics}.damaged; nothing is left of 1 step (2).`,
        `${folder.samples}: nothing is left of 2 steps (1, 3).`,
        `${best} is damaged: the best weights, of step`,
      ];
      const report = Deno.readTextFileSync(folder.report);
      for (const words of said) {
        assert.ok(printed.includes(words), `${words}\n${printed}`);
        assert.ok(report.includes(`| warning | ${words}`), `${words}\n${report}`);
      }
      assert.equal(Deno.readTextFileSync(`${folder.metrics}.damaged`), "rubbish\n");
    }),
});
