/** What the page says and does when a run ends, well or not. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { FailureReason } from "../../../src/base/failure_reason.ts";
import { loadTangoConfig } from "../../../src/run/config/load_config.ts";
import { WrittenRun } from "../written_run.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "./chromium.ts";
import { PATIENCE_MS, withPage } from "./with_page.ts";

function writeRuns(root: string): void {
  const config = loadTangoConfig("configs/last-letter.yaml");
  const fails = (name: string, message: string, reason: FailureReason) => {
    const run = new WrittenRun(root, name, config);
    run.event({ type: "started", step: 0, total: 9, ranks: 1 });
    run.step(1, "generator", { "generator/reward": 0.5 });
    run.event({ type: "failed", step: 1, message, reason });
  };
  fails(
    "diverged",
    "Step 1 ends the run: the generator's gradient is not finite, 3 in a row by now.",
    { code: "diverged", learningRate: "generator.optimizer.learning_rate" },
  );
  fails(
    "short",
    "The GPU has no memory left. End what else runs on the GPU and go on with this run, or begin a run " +
      "that takes less, such as with rollout.decode_slots=128, rollout.batch_size=16.",
    {
      code: "out-of-memory",
      settings: { "rollout.decode_slots": "128", "rollout.batch_size": "16" },
    },
  );
}

async function isTitled(page: Page, title: RegExp): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!title.test(await page.title())) {
    assert(Date.now() < end, await page.title());
    await page.waitForTimeout(20);
  }
}

Deno.test({
  name:
    `page: a run that ends is told of, and what to do after a failure is a button${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withPage({ write: writeRuns, width: 360, at: "?run=diverged" }, async (page) => {
      const resumed: unknown[] = [];
      await page.route("**/resume", (route) => {
        resumed.push(route.request().postDataJSON());
        return route.fulfill({ status: 202, json: {} });
      });
      await page.getByRole("button", {
        name: "Resume with generator.optimizer.learning_rate = 0.0002 (was 0.0004)",
      }).click();
      while (resumed.length === 0) await page.waitForTimeout(20);
      assert.deepEqual(resumed, [{ settings: { "generator.optimizer.learning_rate": 0.0002 } }]);
      assert.deepEqual(await axeViolations(page), [], "diverged");

      await page.goto("/?run=short");
      await page.getByRole("link", {
        name: "Again with rollout.decode_slots=128, rollout.batch_size=16",
      }).click();
      await page.getByRole("heading", { name: "short, again" }).waitFor();
      assert.equal(await page.getByLabel("Problems in a step").inputValue(), "16");
      await page.getByText("rollout.decode_slots=128").waitFor();
      assert.deepEqual(await axeViolations(page), [], "again");

      // A run that goes on, and ends while nobody looks.
      let state = "running";
      await page.route("**/api/runs", async (route) => {
        // One that is under way when the page goes has nobody to answer.
        const response = await route.fetch().catch(() => null);
        if (response === null) return;
        const answer: { runs: object[] } = await response.json();
        const runs = answer.runs.map((run) => ({ ...run, state, error: null }));
        await route.fulfill({ response, json: { ...answer, runs } });
      });
      await page.addInitScript(`
        globalThis.told = [];
        globalThis.Notification = class {
          static permission = "default";
          static requestPermission = async () => { Notification.permission = "granted"; };
          constructor(title) { told.push(title); }
        };
      `);
      await page.goto("/?run=short");
      await page.getByRole("button", { name: "Tell me when it ends" }).click();
      await page.getByRole("button", { name: "Tell me when it ends" })
        .waitFor({ state: "detached" });
      // In one look: a canvas may be drawn anew between two.
      const top = await page.waitForFunction(`(() => {
        const box = document.querySelector("figure canvas")?.getBoundingClientRect();
        return box && box.height > 0 ? { y: box.y } : null;
      })()`);
      const { y } = await top.jsonValue() as { y: number };
      assert(y < 740, `the first curve begins at ${y}`);
      assert.deepEqual(await axeViolations(page), [], "running");
      await page.evaluate(
        `Object.defineProperty(document, "hidden", { value: true, configurable: true })`,
      );
      state = "finished";
      await isTitled(page, /^(short|diverged) finished · tango$/);
      assert.deepEqual(
        (await page.evaluate<string[]>("told")).toSorted(),
        ["diverged: finished", "short: finished"],
      );
      await page.evaluate(`delete document.hidden;
        document.dispatchEvent(new Event("visibilitychange"))`);
      await isTitled(page, /^short · tango$/);
    }),
});
