/** What compares answers gives out in the middle of a run: one message, and no step is lost. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import { AnswerJudge } from "../../src/grading/answer_judge.ts";
import { GradingFailure } from "../../src/grading/grading_failure.ts";
import { latestCheckpoint } from "../../src/run/store/checkpoint.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { gpuOf } from "../kernels/harness.ts";
import { withTinyProject } from "../run/tiny_project.ts";
import { runCaptured } from "./run_captured.ts";

/** Has the judge give out once `isTime`, for the time of `body`. */
async function withFailingJudge(isTime: () => boolean, body: () => Promise<void>): Promise<void> {
  const { isCorrect } = AnswerJudge.prototype;
  AnswerJudge.prototype.isCorrect = function (asked) {
    return isTime()
      ? Promise.reject(new GradingFailure("The thread that compares answers ended by itself."))
      : isCorrect.call(this, asked);
  };
  try {
    await body();
  } finally {
    AnswerJudge.prototype.isCorrect = isCorrect;
  }
}

Deno.test({
  name: "train: grading that gives out while sampling goes on ends the run, which loses no step",
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () =>
    await withTinyProject(await gpuOf("native"), async ({ folder, config }) => {
      const file = (letters: string) => {
        const path = join(folder, `${letters}.jsonl`);
        const rows = [...letters].map((question) => JSON.stringify({ question, answer: "1" }));
        Deno.writeTextFileSync(path, rows.join("\n"));
        return `[{path: ${path}}]`;
      };
      const data = `data={train: ${file("abcd")}, held_out: ${file("efgh")}, validation: null}`;
      const schedule = ["schedule.save_frequency=0", "schedule.test_frequency=0"];
      // One response after another, so that the others are still to be sampled when the first is graded.
      const set = [data, ...schedule, "rollout.decode_slots=1"];
      const train = (run: string) =>
        runCaptured(COMMANDS, [
          "train",
          "--config",
          config,
          "--run",
          run,
          "--steps",
          "3",
          "--gpu",
          "dawn", // whose waiting turns the event loop while responses are sampled
          ...set.flatMap((one) => ["--set", one]),
        ]);
      const whole = RunFolder.at(join(folder, "whole"));
      assert.equal((await train(whole.path)).code, 0);

      const failed = RunFolder.at(join(folder, "failed"));
      const lines = () => readJsonLines(failed.metrics).length;
      await withFailingJudge(() => lines() === 2, async () => {
        const { code, printed } = await train(failed.path);
        assert.equal(code, 1, printed);
        assert.match(printed, /The thread that compares answers ended by itself\.\nThe last /);
        assert.ok(printed.includes(`./tango train --run ${failed.path} --resume`), printed);
        assert.doesNotMatch(printed, /\n\s+at /, "no stack trace");
      });
      const last = readJsonLines<{ step: number; type: string }>(failed.events).at(-1);
      assert.deepEqual([last?.type, last?.step], ["failed", 2]);
      assert.equal(latestCheckpoint(failed.checkpoints)?.step, 2);

      const again = await runCaptured(COMMANDS, ["train", "--run", failed.path, "--resume"]);
      assert.equal(again.code, 0, again.printed);
      assert.equal(
        Deno.readTextFileSync(failed.metrics),
        Deno.readTextFileSync(whole.metrics),
      );
    }),
});
