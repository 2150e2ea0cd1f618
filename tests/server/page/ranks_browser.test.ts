/** Timelines of several ranks and comparisons in a real browser, of runs whose logs are written by hand. */

import assert from "node:assert/strict";
import { parse } from "yaml";
import { comparisonFiles, writeSeeds } from "../../../src/run/compare/comparison_folder.ts";
import { timelineLine } from "../../../src/run/store/timeline_log.ts";
import { WrittenRun } from "../written_run.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "./chromium.ts";
import { withPage } from "./with_page.ts";

const began = Date.UTC(2026, 0, 1);

/** A run that was on four ranks, of which the last waited half of each step, and a day later went on on two. */
function writeRanks(root: string): void {
  const run = new WrittenRun(root, "ranks");
  const lines = [1, 2, 3, 4].map((step) => {
    const at = began + 1000 * step + (step > 2 ? 86_400_000 : 0);
    const spans = Array.from({ length: step > 2 ? 2 : 4 }, (_, rank) => [
      { name: "rollout", begin: at, end: at + (rank === 3 ? 500 : 1000) },
      ...(rank === 3 ? [{ name: "idle", begin: at + 500, end: at + 1000 }] : []),
    ]);
    return `${JSON.stringify(timelineLine(step, spans))}\n`;
  });
  run.event({ type: "started", step: 0, total: 4, ranks: 4 }, new Date(began));
  for (const step of [1, 2]) run.event({ type: "step", step, phase: "generator" });
  run.event({ type: "started", step: 2, total: 4, ranks: 2 });
  for (const step of [3, 4]) run.event({ type: "step", step, phase: "generator" });
  Deno.writeTextFileSync(run.folder.timeline, lines.join(""));
}

/** Of six runs the first two have begun, and none is finished. */
function writeComparison(root: string): void {
  const configuration = parse(Deno.readTextFileSync("configs/last-letter.yaml"));
  const comparison = new WrittenRun(root, "both", configuration);
  writeSeeds(comparison.folder.path, [3, 5]);
  const shares = [[0.4, 0.6, 0.5], [0.6, 0.8, 0.9]]
    .map(([steps, tokens, seconds]) => ({ steps, tokens, seconds }));
  const efficiency = [
    { arm: "alone", pairs: 3, shares },
    { arm: "frozen-verifier", pairs: 3, shares: [] },
  ];
  Deno.writeTextFileSync(
    comparisonFiles(comparison.folder.path).results,
    JSON.stringify({ baseline: "tango", jobs: 2, efficiency }),
  );
  for (const [index, method] of ["tango", "alone"].entries()) {
    const run = new WrittenRun(comparison.folder.path, `${method}-seed-3`);
    const { path } = run.folder;
    comparison.event({ type: "comparedRun", method, seed: 3, path, place: index + 1, total: 6 });
    run.event({ type: "started", step: 0, total: 4, ranks: 1 });
    for (const step of [1, 2, 3]) {
      run.step(step, "generator", { "generator/reward": step + index });
      run.event({ type: "step", step, phase: "generator" });
    }
  }
}

function writeRuns(root: string): void {
  writeRanks(root);
  writeComparison(root);
}

Deno.test({
  name:
    `page: every rank has a row with its waiting, and a comparison the curves of its runs${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withPage({ write: writeRuns, width: 360 }, async (page) => {
      const isFlawless = async (what: string) =>
        assert.deepEqual(await axeViolations(page), [], what);
      await page.goto("/?run=ranks&view=timeline");
      const rows = page.locator(".timeline .rank");
      await rows.nth(3).waitFor();
      assert.equal(await rows.count(), 4);
      const spans = async (rank: number, name: string) =>
        await rows.nth(rank).locator(`.${name}`).count();
      const drawn = [];
      for (const rank of [0, 1, 2, 3]) {
        drawn.push([await spans(rank, "rollout"), await spans(rank, "idle")]);
      }
      assert.deepEqual(drawn, [[4, 0], [4, 0], [2, 0], [2, 2]]);
      await page.getByText("Drawn shorter: 1 d after step 2.").waitFor();
      // Of 12 seconds one is the last rank's waiting.
      const idle = page.getByRole("row").filter({ hasText: "idle" });
      assert.match(await idle.innerText(), /1\s+8\.3 %/);
      assert.match(await page.locator(".entry.shown").innerText(), /2 ranks/);
      await isFlawless("timeline");

      await page.goto("/?run=both");
      const reward = page.locator("figure").filter({ hasText: "Reward" }).first();
      for (
        const [label, value] of [["tango, seed 3", "3"], ["alone, seed 3", "4"]]
      ) {
        await reward.locator("li").filter({ hasText: label }).filter({ hasText: value }).waitFor();
      }
      assert.equal(await page.locator(".entry.inner").count(), 2);
      await isFlawless("a comparison's curves");
      await page.getByRole("tab", { name: "Runs" }).click();
      const row = (words: string) => page.getByRole("row").filter({ hasText: words });
      await row("frozen").filter({ hasText: "to come" }).first().waitFor();
      assert.equal(await page.getByRole("row").filter({ hasText: "to come" }).count(), 4);
      const sooner = page.getByRole("table").filter({ hasText: "To the final accuracy of tango" });
      const cells = async (arm: string) =>
        await sooner.getByRole("row").filter({ hasText: arm }).getByRole("cell").allInnerTexts();
      assert.deepEqual(await cells("alone"), [
        ...["2 of 3", "50.0 ± 14.1 %", "70.0 ± 14.1 %", "70.0 ± 28.3 %"],
      ]);
      assert.deepEqual(await cells("frozen-verifier"), ["0 of 3", "–", "–", "–"]);
      await sooner.getByText("Up to 2 runs went on at once").waitFor();
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
      await isFlawless("a comparison's runs");
      await page.getByRole("link", { name: "alone" }).first().click();
      await page.getByRole("heading", { name: "both:alone-seed-3" }).waitFor();
      assert.equal(await page.locator(".controls > button").count(), 0);

      await page.goto("/?screen=start&preset=last-letter");
      await page.getByLabel("What to do").selectOption("compare");
      await page.getByLabel("Seeds", { exact: true }).fill("1,1");
      await page.getByRole("button", { name: "Start", exact: true }).click();
      await page.locator("#problem-seeds").filter({ hasText: "different seeds" }).waitFor();
      await isFlawless("starting a comparison");
    }),
});
