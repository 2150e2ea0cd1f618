/** The page of a server of its own, in a real browser. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import { serve } from "../../../src/server/serve.ts";
import { staticFiles } from "../../../src/tab/static_files.ts";
import { ServedModels } from "../../../src/server/serving/served_models.ts";
import { CHROMIUM } from "./chromium.ts";

/** A machine that is slow or busy is no failure. */
export const PATIENCE_MS = 120_000;

/** Without the driver that tests compute on, which would hide the browser's own. */
const { VK_DRIVER_FILES: _, VK_ICD_FILENAMES: __, ...BROWSER_ENVIRONMENT } = Deno.env.toObject();

/** What is there before the page is opened. */
interface Opened {
  /** Writes runs into their folder. */
  readonly write?: (root: string) => void | Promise<void>;
  /** The page's width in CSS pixels. */
  readonly width?: number;
  /** What of the page is opened, from the address's question mark on. */
  readonly at?: string;
  /** Arguments for the browser. */
  readonly args?: readonly string[];
}

/**
 * Opens the page of a server of its own; a script's error, or anything that the page's policy refuses, fails the
 * test.
 *
 * @param body given the page, which takes addresses that begin with a slash, and the folder of the runs
 */
export async function withPage(
  { write, width = 1280, at = "", args = [] }: Opened,
  body: (page: Page, root: string) => Promise<void>,
): Promise<void> {
  const root = Deno.makeTempDirSync();
  using _root = { [Symbol.dispose]: () => Deno.removeSync(root, { recursive: true }) };
  // What is fetched, exported and uploaded lies beside the runs.
  const beside = Deno.makeTempDirSync();
  using _beside = { [Symbol.dispose]: () => Deno.removeSync(beside, { recursive: true }) };
  const [models, data] = [join(beside, "models"), join(beside, "data")];
  await write?.(root);
  await using served = new ServedModels({ slots: 4, cacheTokens: 2048, microBatchTokens: 256 });
  await using server = serve({
    hostname: "127.0.0.1",
    port: 0,
    token: null,
    ...{ root, models, data, served },
    tab: () => staticFiles(null),
    folders: [...["configs", "weights"].map((name) => join(PROJECT_FOLDER, name)), data],
    program: join(PROJECT_FOLDER, "src/cli/main.ts"),
  });
  // A run outlives the server that started it, and would outlive a test that fails.
  await using _runs = { [Symbol.asyncDispose]: () => endRuns(server.url) };
  const browser = await chromium.launch({
    executablePath: CHROMIUM ?? undefined,
    args: ["--no-sandbox", ...args], // tests may run as root, whom the sandbox refuses
    env: BROWSER_ENVIRONMENT,
  });
  await using _browser = { [Symbol.asyncDispose]: () => browser.close() };
  const page = await browser.newPage({ viewport: { width, height: 900 }, baseURL: server.url });
  page.setDefaultTimeout(PATIENCE_MS);
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    if (/Content Security Policy|Uncaught/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(`/${at}`);
  await body(page, root);
  assert.deepEqual(complaints, []);
}

async function endRuns(url: string): Promise<void> {
  const { runs }: { runs: { id: string }[] } = await (await fetch(`${url}/api/runs`)).json();
  for (const { id } of runs) {
    // One that is over already is refused.
    await (await fetch(`${url}/api/runs/${id}/kill`, { method: "POST" })).body?.cancel();
  }
}
