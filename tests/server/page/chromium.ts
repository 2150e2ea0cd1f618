/** A real browser for tests of the page: Debian's package `chromium`, or Chrome, on the PATH. */

import { createRequire } from "node:module";
import { join } from "node:path";
import type { Page } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** Where the browser lies; null without one. */
export const CHROMIUM: string | null = findChromium();

/** Said in the name of a test that is skipped. */
export const WITHOUT_CHROMIUM = CHROMIUM === null
  ? " (skipped: there is no Chromium on the PATH; Debian's package is `chromium`)"
  : "";

function findChromium(): string | null {
  const folders = (Deno.env.get("PATH") ?? "").split(":");
  const paths = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return paths.find(isFile) ?? null;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** What axe has against the page as it is now, by WCAG 2.2 A and AA and by good practice; empty is good. */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(Deno.readTextFileSync(axePath));
  return await page.evaluate(`(async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { violations } = await axe.run(document, { runOnly: tags });
    return violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join("\\n"));
  })()`);
}
