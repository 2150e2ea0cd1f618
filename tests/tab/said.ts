/** What a model says on the page and by the command. */

import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { PATIENCE, SWIFTSHADER } from "./webgpu_browser.ts";

/** What `./tango chat` says on the same GPU, the likeliest token each time. */
export async function saidByCommand(model: string, text: string): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--allow-all", "src/cli/main.ts", "chat", "--gpu", "dawn", "--model", model],
      ...["--temperature", "0", text],
    ],
    cwd: PROJECT_FOLDER,
    env: { VK_DRIVER_FILES: SWIFTSHADER },
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

/** Has the page open a model. */
export async function openOnPage(page: Page, files: string[]): Promise<void> {
  const alert = page.getByRole("alert");
  await page.getByLabel("Model").setInputFiles(files);
  await page.getByText(/[\d,]+ parameters, up to/).or(alert).first().waitFor(PATIENCE);
  assert.deepEqual(await alert.allInnerTexts(), []);
}

/** Asks the page's model something in a new conversation; what it replies. */
export async function saidByPage(page: Page, text: string): Promise<string> {
  const alert = page.getByRole("alert");
  await page.getByLabel("Say").fill(text);
  await page.getByRole("button", { name: "Say it" }).click();
  await page.getByText(/\d+ tokens, [\d.]+ a second/).or(alert).first().waitFor(PATIENCE);
  assert.deepEqual(await alert.allInnerTexts(), []);
  return page.locator(".reply .text").innerText();
}
