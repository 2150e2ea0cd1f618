/** A disk that is full is one state of a run that says what to do, and everything goes on when there is room. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { serve } from "../../src/server/serve.ts";
import { endlessRun } from "./endless_run.ts";
import { breath } from "./written_run.ts";
import { fillDisk, SMALL_DISK, withSmallDisk } from "./small_disk.ts";

const program = fileURLToPath(import.meta.resolve("../../src/cli/main.ts"));

const configuration = endlessRun(5);

Deno.test({
  name:
    `full disk: a run fails and says why, the server goes on, and both take up again${SMALL_DISK.why}`,
  ignore: !SMALL_DISK.isPossible,
  // Children are let go on purpose.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withSmallDisk(async (root) => {
      await using server = serve({
        ...{ hostname: "127.0.0.1", port: 0, token: null, folders: [], program, root },
      });
      const ask = async (path: string, method = "GET", body?: object) => {
        await breath();
        const response = await fetch(server.url + path, {
          method,
          headers: body && { "content-type": "application/json" },
          body: body && JSON.stringify(body),
        });
        return { status: response.status, answer: await response.json() };
      };
      const until = async (...states: string[]) => {
        for (;;) {
          const { answer } = await ask("/api/runs/one");
          if (states.includes(answer.state)) return answer;
        }
      };
      const begun = await ask("/api/runs", "POST", { kind: "sft", run: "one", configuration });
      assert.equal(begun.status, 202);
      // With a checkpoint to go on from.
      for (;;) {
        const { answer } = await ask("/api/runs/one");
        assert.equal(answer.error, null);
        if (answer.step >= 6) break;
      }
      const ballast = join(root, "ballast");
      fillDisk(ballast);
      const { state, step, error } = await until("failed", "lost", "killed", "stopped");
      assert.equal(state, "failed");
      assert.match(error, /(disk is full|no room on the disk).* Make room and continue .*--resume/);
      // What is there is shown all the same.
      const { status, answer } = await ask("/api/runs/one/metrics?names=sft/loss");
      assert.equal(status, 200);
      assert.ok(answer.steps.length > 0);
      Deno.removeSync(ballast);
      for (;;) {
        if ((await ask("/healthz")).status === 200) break;
      }
      assert.equal((await ask("/api/runs/one/resume", "POST")).status, 202);
      while ((await ask("/api/runs/one")).answer.step <= step);
      assert.equal((await ask("/api/runs/one/stop", "POST")).status, 202);
      await until("stopped");
    }),
});
