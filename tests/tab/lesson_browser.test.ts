/** Teaching a model of the visitor's in a real browser, beside `./tango sft`. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { exists } from "../../src/platform/files/atomic_file.ts";
import { unpack } from "../../src/tab/files/archive.ts";
import { MemoryFiles } from "../../src/tab/files/memory_files.ts";
import { chattingRun } from "../cli/chatting_run.ts";
import { writeChattingGguf } from "../model/weights/fixture_gguf.ts";
import { withFolder } from "../server/written_run.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "../server/page/chromium.ts";
import { withPage } from "../server/page/with_page.ts";
import { openOnPage, saidByCommand, saidByPage } from "./said.ts";
import { PATIENCE, SWIFTSHADER, WEBGPU } from "./webgpu_browser.ts";

const UPDATES = 2;

/** Words and their last letters. */
const EXAMPLES = Array.from({ length: 24 }, (_, place) => {
  const word = `ab${"cdefgh"[place % 6]}${"klmn"[place % 4]}`;
  return { question: word, answer: `${word}:${word.at(-1)}` };
});

function writeExamples(folder: string): string {
  const path = join(folder, "examples.jsonl");
  Deno.writeTextFileSync(path, EXAMPLES.map((row) => JSON.stringify(row)).join("\n"));
  return path;
}

/** Has the page teach the opened model `UPDATES` updates, and waits until it has learned. */
async function teachOnPage(page: Page, examples: string): Promise<void> {
  const alert = page.getByRole("alert");
  await page.getByLabel("Examples", { exact: true }).setInputFiles(examples);
  await page.getByRole("spinbutton").fill(`${UPDATES}`);
  await page.getByRole("button", { name: "Teach it", exact: true }).click();
  await page.getByText(/Update 2 of 2 on examples\.jsonl, learned/).or(alert).first()
    .waitFor(PATIENCE);
  assert.deepEqual(await alert.allInnerTexts(), []);
}

/** The adapter that the page has to download. */
async function downloadedAdapter(
  page: Page,
): Promise<{ configuration: Record<string, unknown>; weights: Uint8Array }> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download the adapter" }).click(),
  ]);
  const files = new MemoryFiles();
  unpack(files, "", Deno.readFileSync(await download.path()));
  return {
    configuration: JSON.parse(files.readTextFileSync("/tango-adapter/adapter_config.json")),
    weights: files.readFileSync("/tango-adapter/adapter_model.safetensors"),
  };
}

/** The adapter that `./tango sft` trains on the same GPU, told in its own words what the page sets. */
async function taughtByCommand(
  folder: string,
  model: string,
  examples: string,
): Promise<Uint8Array> {
  const [config, prompt] = [join(folder, "sft.yaml"), join(folder, "prompt.txt")];
  Deno.writeTextFileSync(prompt, "{{ question }}\n");
  Deno.writeTextFileSync(
    config,
    `policy: generator
initial_model: ${model}
lora: {rank: 4, alpha: 32}
output_directory: ${join(folder, "adapter")}
data:
  train:
    - {path: ${examples}, columns: {question: question, solution: answer}}
  validation: null
chat: true
prompt_template: ${prompt}
batch_size: 4
optimizer: {learning_rate: 0.001, warmup_steps: 3, schedule: cosine, weight_decay: 0}
loss: {micro_batch_tokens: 1024}
schedule: {total_training_steps: ${UPDATES}, test_frequency: ${UPDATES}, save_frequency: 0}
evaluation: {problems: 32}
`,
  );
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--allow-all", "src/cli/main.ts", "sft", "--gpu", "dawn"],
      ...["--config", config, "--run", join(folder, "run")],
    ],
    cwd: PROJECT_FOLDER,
    env: { VK_DRIVER_FILES: SWIFTSHADER },
    stdout: "null",
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return Deno.readFileSync(join(folder, "adapter", "adapter_model.safetensors"));
}

Deno.test({
  name:
    `tab: an adapter learns from a file, with the bytes of ./tango sft, and outlives a lesson that is ended${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null || !exists(SWIFTSHADER),
  fn: () =>
    withFolder((folder) =>
      withPage({ at: "browser/model.html", args: WEBGPU, width: 360 }, async (page) => {
        const alert = page.getByRole("alert");
        const { generator } = chattingRun(folder);
        const examples = writeExamples(folder);
        await openOnPage(
          page,
          [...Deno.readDirSync(generator)].map(({ name }) => join(generator, name)),
        );
        const reply = await saidByPage(page, "cat dog");

        await page.getByLabel("Examples", { exact: true }).setInputFiles(
          join(generator, "config.json"),
        );
        const teach = page.getByRole("button", { name: "Teach it", exact: true });
        await teach.click();
        await alert.waitFor(PATIENCE);
        assert.match(
          await alert.innerText(),
          /^config\.json has .*Name them question and answer\.$/,
        );
        assert.equal(await page.locator(".reply .text").innerText(), reply, "what was said stays");

        await teachOnPage(page, examples);
        assert.match(await page.locator("main").innerText(), /taught by examples\.jsonl/);
        assert.deepEqual(await axeViolations(page), []);
        assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);

        await page.getByRole("spinbutton").fill("5000");
        await teach.click();
        await page.getByText(/Update [1-9]\d* of 5000/).or(alert).first().waitFor(PATIENCE);
        await page.keyboard.press("Tab");
        assert.equal(await page.locator(":focus").innerText(), "End the lesson");
        await page.keyboard.press("Enter");
        await page.getByText(/, ended before: the model is as it was/).or(alert).first()
          .waitFor(PATIENCE);
        assert.deepEqual(await alert.allInnerTexts(), []);
        assert.match(await page.locator("main").innerText(), /taught by examples\.jsonl/);

        const { configuration, weights } = await downloadedAdapter(page);
        assert.equal(configuration.base_model_name_or_path, "model");
        assert.deepEqual(weights, await taughtByCommand(folder, generator, examples));
      })
    ),
});

Deno.test({
  name:
    `tab: a GGUF file learns from a file, with the bytes of ./tango sft, and ./tango chat opens what it learned${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null || !exists(SWIFTSHADER),
  fn: () =>
    withFolder((folder) =>
      withPage({ at: "browser/model.html", args: WEBGPU }, async (page) => {
        const [model, examples] = [writeChattingGguf(folder), writeExamples(folder)];
        await openOnPage(page, [model]);
        await teachOnPage(page, examples);
        const said = await saidByPage(page, "abclm");
        const { configuration, weights } = await downloadedAdapter(page);
        assert.deepEqual(weights, await taughtByCommand(folder, model, examples));

        const adapter = join(folder, "downloaded");
        Deno.mkdirSync(adapter);
        Deno.writeTextFileSync(
          join(adapter, "adapter_config.json"),
          JSON.stringify({ ...configuration, base_model_name_or_path: model }),
        );
        Deno.writeFileSync(join(adapter, "adapter_model.safetensors"), weights);
        assert.equal(said, await saidByCommand(adapter, "abclm"));
        assert.notEqual(said, await saidByCommand(model, "abclm"));
      })
    ),
});
