/** What somebody does who never types a command: own data, fine-tuned on, trained on, asked and taken away. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import { startServer } from "../server_process.ts";
import { withFolder } from "../written_run.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "./chromium.ts";
import { PATIENCE_MS } from "./with_page.ts";

/** Sums as a person might have them in a spreadsheet. */
const SUMS = "Task,Result,How\n" + Array.from({ length: 100 }, (_, i) => {
  const [a, b, c] = [i % 10, Math.floor(i / 10), (7 * i + 2) % 10];
  const [first, all] = [(a + b) % 10, (a + b + c) % 10];
  const how = `<think><step>${a}+${b}=${first}</step><step>${first}+${c}=${all}</step></think>` +
    `<answer>\\boxed{${all}}</answer>`;
  return `${a}+${b}+${c},${all},${how}\n`;
}).join("");
const COLUMNS = { question: "Task", answer: "Result", solution: "How" };

const PHONE = { width: 360, height: 740 };
const SIZES = [{ width: 1440, height: 900 }, PHONE];

Deno.test({
  name:
    `page: from an own file to a model that answers, without a command, on a phone${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null,
  // The server is a process that ends with the test.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: (test) =>
    withFolder(async (folder) => {
      // What comes with the program, and nothing else.
      for (const name of ["configs", "weights"]) {
        copyFolder(join(PROJECT_FOLDER, name), folder, name);
      }
      const weights = join(folder, "weights/arithmetic/generator/model.safetensors");
      const shipped = Deno.readFileSync(weights);
      const { url, child } = await startServer("runs", 0, [], folder);
      const browser = await chromium.launch({
        executablePath: CHROMIUM ?? undefined,
        args: ["--no-sandbox"], // tests may run as root, whom the sandbox refuses
      });
      const page = await browser.newPage({ viewport: PHONE, baseURL: url });
      page.setDefaultTimeout(PATIENCE_MS);
      const step = async (name: string, body: () => Promise<void>) =>
        assert(await test.step(name, body), name);
      let data = "";
      try {
        await step("a file is uploaded", async () => {
          await page.goto("/");
          await page.getByText("No runs yet").waitFor();
          await isFlawless(page, "no runs");
          data = await uploadData(page);
        });

        await step("a model is fine-tuned on it", async () => {
          await openForm(page, { kind: "sft", model: "weights/arithmetic/generator", data });
          await page.getByLabel("Data").locator("option:checked").filter({ hasText: "data/mine" })
            .waitFor({ state: "attached" });
          // What is wrong is said beside each field, all at once, and mended there.
          await fill(page, { "Steps": "0", "Examples in a step": "-1", "Name": "mine-sft" });
          await start(page);
          await page.locator("#problem-batch_size").waitFor();
          await page.locator('[id="problem-schedule.total_training_steps"]').waitFor();
          await isFlawless(page, "refused");
          await fill(page, { "Steps": "3", "Examples in a step": "4" });
          await start(page);
          await reaches(page, "mine-sft", "finished");
          await isFlawless(page, "fine-tuned");
          assert.deepEqual(Deno.readFileSync(weights), shipped, "the warm start is as it came");
        });

        await step("it is trained further, with a verifier", async () => {
          const model = "runs/mine-sft/generator";
          await openForm(page, { preset: "arithmetic", model, data });
          await fill(page, {
            "Steps": "2",
            "Problems in a step": "2",
            "Solutions of each problem": "2",
            "Name": "mine",
          });
          await isFlawless(page, "new run");
          await start(page);
          await reaches(page, "mine", "finished");
          await page.locator("figure canvas").first().waitFor();
          await isFlawless(page, "trained");
        });

        await step("it is found again by a tag, and begun again with other settings", async () => {
          await page.getByText("Tags and note").click();
          await page.getByLabel("Tags", { exact: true }).fill("own data, first");
          await page.getByLabel("Note").fill("Sums of three.");
          await isFlawless(page, "tags and note");
          await page.getByRole("button", { name: "Save" }).click();
          await page.locator(".notes .note").filter({ hasText: "Sums of three." }).waitFor();
          await page.locator(".find summary").click();
          await page.getByRole("combobox", { name: "Tag" }).selectOption("own data");
          await page.getByRole("navigation", { name: "Runs" }).getByText("mine-sft")
            .waitFor({ state: "detached" });
          await isFlawless(page, "found");
          await page.reload();
          await page.getByRole("link", { name: "Again with other settings" }).click();
          await page.getByRole("heading", { name: "mine, again" }).waitFor();
          assert.equal(await page.getByLabel("Problems in a step").inputValue(), "2");
          await isFlawless(page, "again");
          await page.goBack();
        });

        await step("it answers", async () => {
          assert.equal(typeof await ask(page, "mine/generator@2", "1+2+3"), "string");
        });

        await step("it is taken away", async () => {
          await page.getByRole("tab", { name: "Checkpoints" }).click();
          const link = page.getByRole("link", { name: /generator.*safetensors/ }).first();
          const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
          assert(Deno.statSync(await download.path()).size > 100_000);
          await isFlawless(page, "checkpoints");
        });
      } finally {
        await browser.close();
        child.kill("SIGINT");
        await child.status;
      }
    }),
});

/** @returns the key `data` of a configuration */
function uploadData(page: Page): Promise<string> {
  return page.evaluate(`(async () => {
    const sent = async (path, options) => {
      const response = await fetch(path, options);
      if (!response.ok) throw new Error(await response.text());
      return await response.json();
    };
    await sent("/api/datasets/mine/sums.csv", {
      method: "PUT",
      headers: { "content-type": "text/csv" },
      body: ${JSON.stringify(SUMS)},
    });
    const checked = await sent("/api/datasets/mine/check", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: ${JSON.stringify(JSON.stringify({ columns: COLUMNS }))},
    });
    return JSON.stringify(checked.data);
  })()`);
}

/** @returns what the model writes */
function ask(page: Page, model: string, prompt: string): Promise<string> {
  const body = JSON.stringify({ model, prompt, max_tokens: 4 });
  return page.evaluate(`(async () => {
    const response = await fetch("/v1/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: ${JSON.stringify(body)},
    });
    if (!response.ok) throw new Error(await response.text());
    return (await response.json()).choices[0].text;
  })()`);
}

async function openForm(page: Page, filled: Record<string, string>): Promise<void> {
  await page.goto(`/?${new URLSearchParams({ screen: "start", ...filled })}`);
}

async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [label, text] of Object.entries(fields)) {
    await page.getByRole("textbox", { name: label, exact: true })
      .or(page.getByRole("spinbutton", { name: label })).first().fill(text);
  }
}

async function start(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Start", exact: true }).click();
}

async function reaches(page: Page, run: string, state: string): Promise<void> {
  await page.getByRole("heading", { name: run, exact: true }).waitFor();
  const badge = page.locator(".where .badge");
  await badge.filter({ hasText: new RegExp(`${state}|failed|lost`) }).waitFor();
  const said = await page.locator(".run-header").innerText();
  assert.equal(await badge.innerText(), state, said);
}

/** At every size: axe has nothing against it, and nothing is wider than the screen. */
async function isFlawless(page: Page, view: string): Promise<void> {
  for (const size of SIZES) {
    await page.setViewportSize(size);
    assert.deepEqual(await axeViolations(page), [], `${view} at ${size.width}`);
    const over = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
    assert.equal(over, 0, `${view} at ${size.width} is too wide`);
  }
}

function copyFolder(from: string, into: string, name: string): void {
  const to = join(into, name);
  Deno.mkdirSync(to);
  for (const entry of Deno.readDirSync(from)) {
    if (entry.isDirectory) copyFolder(join(from, entry.name), to, entry.name);
    else Deno.copyFileSync(join(from, entry.name), join(to, entry.name));
  }
}
