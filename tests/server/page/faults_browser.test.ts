/** The page while the server is gone, a run's process is killed from outside, and the disk is full. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { readControlFile } from "../../../src/run/control/endpoint/control_file.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { endlessRun } from "../endless_run.ts";
import { startServer } from "../server_process.ts";
import { fillDisk, SMALL_DISK, withSmallDisk } from "../small_disk.ts";
import { withFolder } from "../written_run.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "./chromium.ts";
import { PATIENCE_MS } from "./with_page.ts";

const configuration = endlessRun(5);

const badge = (page: Page) => page.locator(".run-header .badge");
const reaches = (page: Page, state: string) => badge(page).filter({ hasText: state }).waitFor();

async function stepShown(page: Page): Promise<number> {
  const text = await page.locator(".run-header .where").innerText();
  return Number(/step (\d+)/.exec(text)?.[1]);
}

async function goesOn(page: Page): Promise<void> {
  await reaches(page, "running");
  const before = await stepShown(page);
  while (await stepShown(page) <= before) await page.waitForTimeout(50);
}

/** What is said of the one state that a run is in. */
async function said(page: Page): Promise<string> {
  const alert = page.locator(".run-header [role=alert]");
  await alert.waitFor();
  assert.deepEqual(await axeViolations(page), []);
  return await alert.innerText();
}

const resume = (page: Page) => page.getByRole("button", { name: "Resume", exact: true }).click();

Deno.test({
  name:
    `page: a server that is killed, a lost process and a full disk are each one state, and go by${WITHOUT_CHROMIUM}` +
    SMALL_DISK.why,
  ignore: CHROMIUM === null,
  // Children are let go on purpose.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    (SMALL_DISK.isPossible ? withSmallDisk : withFolder)(async (root) => {
      let { url, child } = await startServer(root);
      const folder = RunFolder.at(join(root, "one"));
      const killRun = () => {
        const running = readControlFile(folder);
        if (running) Deno.kill(running.process.pid, "SIGKILL");
      };
      let browser: Browser | null = null;
      try {
        const begun = await fetch(`${url}/api/runs`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ kind: "sft", run: "one", configuration }),
        });
        assert.equal(begun.status, 202, await begun.text());
        browser = await chromium.launch({
          executablePath: CHROMIUM ?? undefined,
          args: ["--no-sandbox"], // tests may run as root, whom the sandbox refuses
        });
        const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
        page.setDefaultTimeout(PATIENCE_MS);
        await page.goto(`${url}/?run=one`);
        await goesOn(page);

        child.kill("SIGKILL");
        await child.status;
        const gone = page.getByText("The server does not answer.").first();
        await gone.waitFor();
        assert.equal(await badge(page).innerText(), "running");
        ({ url, child } = await startServer(root, Number(new URL(url).port)));
        await gone.waitFor({ state: "hidden" });
        await goesOn(page);

        killRun();
        await reaches(page, "lost");
        assert.match(await said(page), /gone without a last word.* Resume goes on from its newest/);
        await resume(page);
        await goesOn(page);

        if (!SMALL_DISK.isPossible) return;
        const ballast = join(root, "ballast");
        fillDisk(ballast);
        await reaches(page, "failed");
        assert.match(
          await said(page),
          /(disk is full|no room on the disk).* Make room and continue/,
        );
        Deno.removeSync(ballast);
        await resume(page);
        await goesOn(page);
      } finally {
        await browser?.close();
        killRun();
        child.kill("SIGINT");
        await child.status;
      }
    }),
});
