/** Training in a tab of a real browser, on the software GPU that it brings. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { exists } from "../../src/platform/files/atomic_file.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { latestCheckpoint } from "../../src/run/store/checkpoint.ts";
import { unpack } from "../../src/tab/files/archive.ts";
import { MemoryFiles } from "../../src/tab/files/memory_files.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "../server/page/chromium.ts";
import { withPage } from "../server/page/with_page.ts";
import { PATIENCE, SWIFTSHADER, WEBGPU } from "./webgpu_browser.ts";

/** The default task, as little of it as has all phases. */
const SETTINGS = [
  "schedule.total_training_steps=3",
  "schedule.verifier_warmup_steps=1",
  "schedule.measure_start=0",
  "schedule.save_frequency=1",
  "rollout.batch_size=2",
  "rollout.group_size=2",
  "rollout.candidates=2",
  "rollout.decode_slots=8",
  "loss.mini_batches=1",
  "generator.max_response_length=32",
  "verifier.max_response_length=56",
  "evaluation.problems=1",
];

const press = (page: Page, name: string) =>
  page.getByRole("button", { name, exact: true }).click(PATIENCE);

/** Waits until the page says something, or that something is wrong, which fails. */
async function says(page: Page, text: string | RegExp): Promise<void> {
  const alert = page.getByRole("alert");
  await page.getByText(text).or(alert).first().waitFor(PATIENCE);
  assert.deepEqual(await alert.allInnerTexts(), []);
}

/** The run of the page, unpacked. */
async function downloaded(page: Page, button: string): Promise<string> {
  const [download] = await Promise.all([page.waitForEvent("download"), press(page, button)]);
  const files = new MemoryFiles();
  unpack(files, "/in", Deno.readFileSync(await download.path()));
  const folder = Deno.makeTempDirSync();
  for (const { path, bytes } of files.filesBelow("/in/tango-run")) {
    const place = join(folder, path);
    Deno.mkdirSync(place.slice(0, place.lastIndexOf("/")), { recursive: true });
    Deno.writeFileSync(place, bytes);
  }
  return folder;
}

/** Weights and moments of a run's newest checkpoint. */
function weightsOf(folder: string): [number, ...Uint8Array[]] {
  const checkpoint = latestCheckpoint(RunFolder.at(folder).checkpoints);
  assert.ok(checkpoint);
  const read = (policy: string) =>
    Deno.readFileSync(join(checkpoint.path, `${policy}.safetensors`));
  return [checkpoint.step, read("generator"), read("verifier")];
}

/** The same run by the command, without a stop. */
async function trainedByCommand(folder: string): Promise<void> {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--allow-all", "src/cli/main.ts", "train", "--gpu", "dawn", "--run", folder],
      ...SETTINGS.flatMap((setting) => ["--set", setting]),
    ],
    cwd: PROJECT_FOLDER,
    env: { VK_DRIVER_FILES: SWIFTSHADER },
    stdout: "null",
    stderr: "piped",
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
}

const at = `browser/?${new URLSearchParams(SETTINGS.map((setting) => ["set", setting]))}`;

Deno.test({
  name:
    `tab: trains, is kept over a reload, goes on, and leaves the bytes of --gpu dawn${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null || !exists(SWIFTSHADER),
  fn: () =>
    withPage({ at, args: WEBGPU }, async (page) => {
      await press(page, "Train");
      await says(page, /^Step 1 of 3/);
      await press(page, "Stop and keep");
      await says(page, /^Step [12] of 3, stopped/);
      // The button is gone; the keyboard goes on from where it was.
      await page.keyboard.press("Tab");
      assert.equal(await page.locator(":focus").innerText(), "Go on");
      assert.deepEqual(await axeViolations(page), []);
      await page.reload();
      await says(page, /A run is kept in this browser: step [12] of 3/);
      await press(page, "Go on with it");
      await says(page, "Step 3 of 3, done");
      assert.match(await page.locator(".headlines").innerText(), /generator accuracy/);
      assert.ok(await page.locator(".sample .solution-step").count() > 0);
      assert.deepEqual(await axeViolations(page), []);
      await page.setViewportSize({ width: 360, height: 800 });
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);

      const folder = await downloaded(page, "Download the run");
      const other = Deno.makeTempDirSync();
      try {
        assert.ok(exists(RunFolder.at(folder).report));
        await trainedByCommand(join(other, "run"));
        assert.deepEqual(weightsOf(folder), weightsOf(join(other, "run")));
      } finally {
        for (const path of [folder, other]) Deno.removeSync(path, { recursive: true });
      }
    }),
});

Deno.test({
  name: `tab: says what is missing where there is no GPU for WebGPU${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null,
  fn: () =>
    withPage({ at: "browser/", width: 360 }, async (page) => {
      assert.match(await page.getByRole("alert").innerText(), /WebGPU/);
      assert.equal(await page.getByRole("button").count(), 0);
      assert.deepEqual(await axeViolations(page), []);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
    }),
});
