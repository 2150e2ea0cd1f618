/** What somebody does who never types a command: own data, fine-tuned on, trained on, asked and taken away. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { chromium, type Locator, type Page } from "playwright-core";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import { startServer } from "../server_process.ts";
import { withFolder } from "../written_run.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "./chromium.ts";
import { PATIENCE_MS } from "./with_page.ts";

/** Sums as a person might have them in a spreadsheet. */
const SUMS = "Problem,Answer,How\n" + Array.from({ length: 100 }, (_, i) => {
  const [a, b, c] = [i % 10, Math.floor(i / 10), (7 * i + 2) % 10];
  const [first, all] = [(a + b) % 10, (a + b + c) % 10];
  const how = `<think><step>${a}+${b}=${first}</step><step>${first}+${c}=${all}</step></think>` +
    `<answer>\\boxed{${all}}</answer>`;
  return `${a}+${b}+${c},${all},${how}\n`;
}).join("");
/** The same with a worse response, whose steps leave something out. */
const PAIRS = SUMS.trim().split("\n").slice(1).map((row) => {
  const [prompt, all, chosen] = row.split(",");
  const rejected = `<think><step>${prompt}</step></think><answer>\\boxed{${all}}</answer>`;
  return JSON.stringify({ prompt, chosen, rejected });
}).join("\n");
const COLUMNS = { Problem: "Problem", Answer: "Answer", Solution: "How" };

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
      try {
        await step("a file is uploaded, and said how it is read", async () => {
          await page.goto("/");
          await page.getByText("No runs yet").waitFor();
          await isFlawless(page, "no runs");
          await open(page, "Data");
          await page.getByLabel("File", { exact: true }).setInputFiles({
            name: "mine.csv",
            mimeType: "text/csv",
            buffer: Buffer.from(SUMS),
          });
          await page.getByRole("button", { name: "Upload" }).click();
          await page.getByRole("heading", { name: "mine" }).waitFor();
          for (const [role, column] of Object.entries(COLUMNS)) {
            await page.getByLabel(new RegExp(`^${role}:`)).selectOption(column);
          }
          await page.getByRole("button", { name: "Check" }).click();
          await page.getByText("All 100 rows were read. None stops a run.").waitFor();
          await isFlawless(page, "data");
        });

        await step("a model is fine-tuned on it", async () => {
          await page.getByRole("link", { name: "Fine-tune on it" }).click();
          await isChosen(page, "Data", "data/mine");
          // What is wrong is said beside each field, all at once, and mended there.
          await fill(page, {
            "Model": "weights/arithmetic/generator",
            "Steps": "0",
            "Examples in a step": "-1",
            "Name": "mine-sft",
          });
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

        await step("it is made to prefer the better of two responses", async () => {
          await open(page, "Data");
          await page.getByLabel("File", { exact: true }).first().setInputFiles({
            name: "pairs.jsonl",
            mimeType: "application/jsonl",
            buffer: Buffer.from(PAIRS),
          });
          await page.getByRole("button", { name: "Upload" }).click();
          await page.getByRole("heading", { name: "pairs" }).waitFor();
          await page.getByRole("button", { name: "Check" }).click();
          await page.getByRole("row", { name: /^pairs of a better and a worse/ }).waitFor();
          await isFlawless(page, "pairs");
          await page.getByRole("link", { name: "Prefer the better of each pair" }).click();
          await isChosen(page, "Data", "data/pairs");
          await fill(page, {
            ...{ "Model": "runs/mine-sft/generator", "Steps": "2", "Examples in a step": "4" },
            "Name": "mine-prefers",
          });
          await start(page);
          await reaches(page, "mine-prefers", "finished");
          await isFlawless(page, "prefers");
          const log = Deno.readTextFileSync(join(folder, "runs/mine-prefers/metrics.jsonl"));
          assert.match(log, /"sft\/rejected_reward":/);
        });

        await step("it is trained further, with a verifier", async () => {
          await open(page, "Models");
          await card(page, "runs/mine-sft/generator").getByRole("link", { name: /^Train from/ })
            .click();
          await page.getByLabel("Preset").selectOption("arithmetic");
          await page.getByLabel("Data", { exact: true }).selectOption("data/mine");
          await page.getByText("question: Problem").waitFor();
          assert.equal(
            await page.getByLabel("Model", { exact: true }).inputValue(),
            "runs/mine-sft/generator",
          );
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

        await step("it answers, and its verifier judges each step", async () => {
          await open(page, "Models");
          await card(page, "mine/generator@2").getByRole("link", { name: /^Chat/ }).click();
          await page.getByLabel("Problem, on its own").fill("1+2+3");
          await page.getByRole("button", { name: "Send" }).click();
          await page.getByRole("region", { name: "Judgment 1" }).getByText("verifier says")
            .waitFor();
          await isFlawless(page, "chat");
        });

        await step("it is taken away whole", async () => {
          await open(page, "Models");
          const link = card(page, "runs/mine/generator").getByRole("link", { name: /^Download/ });
          const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
          const listed = new Deno.Command("tar", { args: ["-tf", await download.path()] });
          const files = new TextDecoder().decode((await listed.output()).stdout).split("\n");
          for (const name of ["config.json", "model.safetensors"]) {
            assert(files.some((file) => file.split("/").at(-1) === name), `${name} in ${files}`);
          }
          await isFlawless(page, "models");
        });
      } finally {
        await browser.close();
        child.kill("SIGINT");
        await child.status;
      }
    }),
});

/** Goes to another part of the page. */
async function open(page: Page, screen: string): Promise<void> {
  await page.getByRole("link", { name: screen, exact: true }).click();
  await page.getByRole("heading", { name: screen, exact: true }).waitFor();
}

function card(page: Page, model: string): Locator {
  return page.getByRole("article", { name: model, exact: true });
}

async function isChosen(page: Page, label: string, option: string): Promise<void> {
  await page.getByLabel(label, { exact: true }).locator("option:checked").filter({
    hasText: option,
  })
    .waitFor({ state: "attached" });
}

async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [label, text] of Object.entries(fields)) {
    await page.getByRole("textbox", { name: label, exact: true })
      .or(page.getByRole("combobox", { name: label, exact: true }))
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
