/** The page that measures a visitor's GPU, on the software GPU that the browser brings. */

import assert from "node:assert/strict";
import { readResults } from "../../bench/results.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "../server/page/chromium.ts";
import { withPage } from "../server/page/with_page.ts";
import { PATIENCE, WEBGPU } from "./webgpu_browser.ts";

Deno.test({
  name: `tab: a GPU is measured, and the report is a file that bench reads${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null,
  fn: () =>
    withPage(
      { at: "browser/report.html?filter=rmsnorm", args: WEBGPU, width: 360 },
      async (page) => {
        await page.getByRole("button", { name: "Measure this GPU" }).click();
        await page.getByText("all 4 of 4 gave right numbers").waitFor(PATIENCE);
        assert.equal(await page.getByRole("alert").count(), 0);
        assert.equal(await page.locator("tbody tr").count(), 4);
        assert.deepEqual(await axeViolations(page), []);
        assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
        const [download] = await Promise.all([
          page.waitForEvent("download"),
          page.getByRole("button", { name: "Download the report" }).click(),
        ]);
        assert.match(download.suggestedFilename(), /^google-swiftshader-browser\.json$/);
        const { adapter, results, rates, device } = readResults(await download.path());
        assert.equal(adapter, "google swiftshader");
        assert.ok(rates.gflops > 0 && rates.gbps > 0);
        assert.deepEqual(results.map(({ name, shape }) => `${name}/${shape}`), [
          "rmsnorm_forward/tiny",
          "rmsnorm_backward/tiny",
          "rmsnorm_forward/small",
          "rmsnorm_backward/small",
        ]);
        assert.match(device?.system ?? "", /Chrome/);
      },
    ),
});
