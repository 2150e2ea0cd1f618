/** Server and run are killed at moments of chance: what was shown once is shown again, and no process stays behind. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { isAlive, type ProcessIdentity } from "../../src/platform/process/process_identity.ts";
import { readControlFile } from "../../src/run/control/endpoint/control_file.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { startServer } from "./server_process.ts";
import { withFolder } from "./written_run.ts";
import { endlessRun } from "./endless_run.ts";

/** How often something is killed; more by the variable, for those who have the time. */
const KILLS = Number(Deno.env.get("TANGO_TEST_KILLS") ?? 6);

const configuration = endlessRun(10);

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function ask(url: string, path: string, method = "GET", body?: object) {
  const response = await fetch(url + path, {
    method,
    headers: body && { "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const answer = await response.json();
  assert.ok(response.ok, JSON.stringify(answer));
  return answer;
}

/** Waits until a run is in one of some states. */
async function until(url: string, id: string, ...states: string[]): Promise<void> {
  while (!states.includes((await ask(url, `/api/runs/${id}`)).state)) await pause(20);
}

/** All rows of the loss that are shown, by step. */
async function rows(url: string, id: string): Promise<Map<number, number>> {
  const { steps, phases, series } = await ask(
    url,
    `/api/runs/${id}/metrics?names=sft/loss&points=100000`,
  );
  const losses = series["sft/loss"] as number[];
  const trained = (steps as number[]).map((step, row) => [step, losses[row]] as const)
    .filter((_, row) => phases[row] !== "evaluation");
  assert.equal(
    new Set(trained.map(([step]) => step)).size,
    trained.length,
    "no row is there twice",
  );
  return new Map(trained);
}

Deno.test({
  name: `killed: server or run, ${KILLS} times, lose no row that was shown and leave no process`,
  // Children are let go on purpose.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withFolder(async (root) => {
      let { url, child } = await startServer(root);
      const { id } = await ask(url, "/api/runs", "POST", { kind: "sft", configuration });
      const folder = RunFolder.at(join(root, id));
      const seen = new Map<number, number>();
      const processes: ProcessIdentity[] = [];
      await until(url, id, "running");
      for (let kill = 0; kill < KILLS; kill++) {
        await pause(300 * Math.random());
        for (const [step, loss] of await rows(url, id)) {
          assert.equal(loss, seen.get(step) ?? loss, `step ${step}`);
          seen.set(step, loss);
        }
        // The first two are one of each.
        if (kill === 0 || (kill > 1 && Math.random() < 0.5)) {
          child.kill("SIGKILL");
          await child.status;
          ({ url, child } = await startServer(root));
          await until(url, id, "running");
          continue;
        }
        const { process } = readControlFile(folder) ?? assert.fail("nobody runs it");
        processes.push(process);
        Deno.kill(process.pid, "SIGKILL");
        await until(url, id, "lost");
        await ask(url, `/api/runs/${id}/resume`, "POST");
        await until(url, id, "running");
      }
      const last = Math.max(0, ...seen.keys());
      while ((await ask(url, `/api/runs/${id}`)).step < last) await pause(50);
      const { process: final } = readControlFile(folder) ?? assert.fail("nobody runs it");
      await ask(url, `/api/runs/${id}/stop`, "POST");
      await until(url, id, "stopped");
      // It says that it stopped, and then has its GPU and its files to put away.
      while (isAlive(final)) await pause(20);
      const shown = await rows(url, id);
      for (const [step, loss] of seen) assert.equal(shown.get(step), loss, `step ${step}`);
      assert.deepEqual([...shown.keys()], Array.from(shown.keys(), (_, index) => index + 1));
      const lines = Deno.readTextFileSync(folder.events).trimEnd().split("\n");
      assert.deepEqual(
        lines.map((line) => JSON.parse(line).number),
        lines.map((_, index) => index + 1),
      );
      for (const process of processes) assert.ok(!isAlive(process));
      child.kill("SIGINT");
      assert.equal((await child.status).code, 0);
    }),
});
