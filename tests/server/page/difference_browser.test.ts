/** Where two runs part in a real browser, of runs whose records are written by hand. */

import assert from "node:assert/strict";
import { RunEndpoint } from "../../../src/run/control/endpoint/run_endpoint.ts";
import { RunControl } from "../../../src/run/control/run_control.ts";
import { RunEvents } from "../../../src/run/events/run_events.ts";
import { writeRun, writeTwoRuns } from "../recorded_runs.ts";
import { WrittenRun } from "../written_run.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "./chromium.ts";
import { withPage } from "./with_page.ts";

/** @returns a run that is like `warm` */
async function writeRuns(root: string): Promise<WrittenRun> {
  await writeTwoRuns(root);
  const early = new WrittenRun(root, "early");
  early.event({ type: "started", step: 0, total: 2, ranks: 1 });
  early.event({ type: "step", step: 1, phase: "generator" });
  return await writeRun(root, "warm", "again");
}

Deno.test({
  name: `page: where two runs part stands beside each other${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const { promise: written, resolve } = Promise.withResolvers<WrittenRun>();
    const write = async (root: string) => resolve(await writeRuns(root));
    await withPage({ write, width: 360 }, async (page) => {
      const isFlawless = async (what: string) =>
        assert.deepEqual(await axeViolations(page), [], what);
      const panel = page.getByRole("tabpanel");
      await page.goto("/?run=warm&run=warm&view=difference");
      await panel.getByText("A run is the same as itself.").waitFor();
      await page.getByLabel("compare cool").check();
      const row = (words: string) => panel.getByRole("row").filter({ hasText: words });
      await row("rollout.temperature").filter({ hasText: "0.9" }).waitFor();
      assert.match(await row("driver").innerText(), /Mesa 1\s+Mesa 2/);
      await panel.getByText("They part at step 3 (generator), of 3").waitFor();
      await panel.getByText("The same before it: problems.").waitFor();
      await panel.getByText("sample 2, in its solution: token 4.").waitFor();
      const text = (id: string) => panel.getByRole("region", { name: `Text of ${id}` });
      assert.deepEqual(
        [
          await text("warm").locator(".quiet").innerText(),
          await text("warm").locator("mark").innerText(),
          await text("cool").locator("mark").innerText(),
        ],
        ["The dog", "▯", "s"],
      );
      assert.match(await row("weights, element 1").innerText(), /-0\s+0$/);
      await panel.getByText("2 of the 3 elements of weights differ").waitFor();
      for (const scheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        await isFlawless(`two runs that part, ${scheme}`);
      }
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
      await panel.getByRole("link", { name: "Samples of step 3" }).click();
      await page.getByRole("heading", { name: "cool", exact: true }).waitFor();
      assert.match(page.url(), /step=3/);

      await page.goto("/?run=warm&run=early&view=difference");
      await panel.getByText("The run early has no records of its steps").waitFor();

      // The test itself runs it.
      using endpoint = new RunEndpoint(new RunControl(), new RunEvents());
      const again = await written;
      endpoint.open(again.folder, {
        budgetBytes: 9000,
        reservedBytes: 700,
        peakBytes: 650,
      });
      await page.goto("/?run=warm&run=again&view=difference");
      await panel.getByText("Up to step 3, the last that both have done, every record is the same.")
        .waitFor();
      await panel.getByText("Nothing differs: settings").waitFor();
      await panel.getByText("Still going on: again.").waitFor();
      await isFlawless("two runs that are the same");
      const look = panel.getByRole("button", { name: "Look again" });
      assert.equal(await look.count(), 0);
      again.event({ type: "step", step: 4, phase: "generator" });
      await look.click();
      await look.waitFor({ state: "detached" });
      await panel.getByText("Up to step 3, the last that both have done").waitFor();
    });
  },
});
