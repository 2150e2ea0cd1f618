/** What a person does with models and data in a browser. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Page } from "playwright-core";
import { FakeHub } from "../../hub/fake_hub.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "./chromium.ts";
import { withPage } from "./with_page.ts";

const GENERATOR = "weights/last-letter/generator";

/** The least that leaves a checkpoint of both policies. */
const RUN = {
  kind: "train",
  preset: "last-letter",
  run: "small",
  steps: 1,
  set: [
    "rollout.batch_size=2",
    "rollout.group_size=2",
    "schedule.generator_warmup_steps=0",
    "schedule.test_frequency=0",
    "evaluation.problems=2",
  ],
};

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name });
const card = (page: Page, name: string) =>
  page.getByRole("article", { name }).filter({ has: page.getByRole("heading", { name }) });

async function isFlawless(page: Page, view: string) {
  assert.deepEqual(await axeViolations(page), [], view);
  const wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
  assert.equal(wide, false, `${view} is wider than the window`);
}

/** A file of problems as a person has them, with a row that has no answer. */
const SUMS = [
  "Problem,Result,How",
  ...Array.from({ length: 60 }, (_, i) => `${i}+${i},${2 * i},"${i} and ${i} is ${2 * i}"`),
].join("\n");

Deno.test({
  name:
    `page: models are talked with, measured, exported and deleted, data is uploaded and checked${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(test) {
    await withPage({ width: 360, at: "?screen=models" }, async (page) => {
      const step = async (name: string, body: () => Promise<void>) =>
        assert(await test.step(name, body), name);

      await step("a model is found, measured, and what is wrong is said where it is", async () => {
        await page.getByRole("heading", { name: GENERATOR }).waitFor();
        await page.getByLabel("Only those with").fill("last-letter generator");
        assert.equal(await page.locator(".card").count(), 1);
        const one = card(page, GENERATOR);
        await one.getByText(/K parameters/).waitFor();
        await one.getByRole("button", { name: /^Evaluate/ }).click();
        await one.getByLabel("Responses to each").fill("0");
        await one.getByRole("button", { name: "Measure" }).click();
        await one.locator('[aria-invalid="true"]').waitFor();
        await isFlawless(page, "evaluate");
        await one.getByLabel("Responses to each").fill("1");
        await one.getByLabel("Problems", { exact: true }).fill("4");
        await one.getByRole("button", { name: "Measure" }).click();
        await one.getByText("4 problems of").waitFor();
        await one.getByRole("rowheader", { name: /accuracy/ }).first().waitFor();
        await isFlawless(page, "models");
        assert.equal(await one.getByRole("button", { name: /^Delete weights/ }).count(), 0);
      });

      await step("a model answers, is stopped, and what was said stays", async () => {
        await card(page, GENERATOR).getByRole("link", { name: /^Chat/ }).click();
        await page.getByLabel("Temperature").fill("0");
        const message = page.getByLabel("Message");
        await message.fill("cat dog");
        await message.press("Enter");
        await page.locator(".turn[aria-busy=false] .reply .text").filter({ hasText: /\w/ })
          .waitFor();
        await isFlawless(page, "chat");
        // One that is long in coming can be given up.
        await page.route("**/v1/completions", () => {});
        await message.fill("sun");
        await message.press("Enter");
        await button(page, "Stop").click();
        await page.getByText("Stopped.").waitFor();
        await page.unroute("**/v1/completions");
        // More than there is room for is refused, and said below what was asked.
        await page.getByLabel("Tokens at most").fill("1000000");
        await message.fill("sun");
        await button(page, "Send").click();
        await page.getByRole("alert").filter({ hasText: "max_tokens: 1000000" }).waitFor();
        await page.getByRole("link", { name: "Models" }).click();
        await page.getByRole("heading", { name: "Models" }).waitFor();
        await page.goBack();
        assert.equal(await page.locator(".turn").count(), 3);
        const said = await page.locator(".turns").innerText();
        await page.reload();
        await page.getByText("Stopped.").waitFor();
        assert.equal(await page.locator(".turns").innerText(), said);
        await isFlawless(page, "chat after a reload");
        await button(page, "New conversation").click();
        assert.equal(await page.locator(".turn").count(), 0);
        assert(await message.evaluate((field) => field === field.ownerDocument.activeElement));
        await page.reload();
        await message.waitFor();
        assert.equal(await page.locator(".turn").count(), 0);
      });

      await step(
        "a run's generator solves a problem, and its verifier judges the steps",
        async () => {
          const begun = await page.evaluate(async (body) => {
            const headers = { "content-type": "application/json" };
            return (await fetch("/api/runs", { method: "POST", headers, body })).status;
          }, JSON.stringify(RUN));
          assert.equal(begun, 202);
          await page.getByRole("link", { name: "Models" }).click();
          const checkpoint = card(page, "small/generator@1");
          while (await checkpoint.count() === 0) {
            await page.waitForTimeout(500);
            await page.reload();
            await page.getByRole("heading", { name: GENERATOR }).waitFor();
          }
          await checkpoint.getByRole("link", { name: /^Chat/ }).click();
          await page.getByLabel("Temperature").fill("0");
          await page.getByRole("textbox", { name: "Problem" }).fill("cat dog");
          await button(page, "Send").click();
          await page.getByRole("region", { name: "Judgment 1" }).getByText("verifier says")
            .waitFor();
          await isFlawless(page, "judged");
          await page.getByLabel("The run's verifier judges each step").uncheck();
          await page.getByLabel("Message").waitFor();
        },
      );

      await step("a checkpoint is measured, and trained from, as it is", async () => {
        await page.getByRole("link", { name: "Models" }).click();
        for (const policy of ["generator", "verifier"]) {
          const one = card(page, `small/${policy}@1`);
          await one.getByRole("button", { name: /^Evaluate/ }).click();
          await one.getByLabel("Problems", { exact: true }).fill("2");
          await one.getByRole("button", { name: "Measure" }).click();
          await one.getByText("2 problems of last-letter").waitFor();
          await one.getByRole("rowheader", { name: `eval/${policy}/accuracy` }).waitFor();
        }
        await isFlawless(page, "measured checkpoints");
        for (const [policy, key] of [["verifier", "Verifier"], ["generator", "Model"]]) {
          await card(page, `small/${policy}@1`).getByRole("button", { name: /^Train from/ })
            .click();
          await page.getByRole("heading", { name: "New run" }).waitFor();
          const field = page.getByLabel(key, { exact: true });
          assert.match(await field.inputValue(), new RegExp(`/small-${policy}-1$`));
          await page.goBack();
        }
        // What is there is not written again.
        const written = card(page, "small/generator@1").getByText(/Written to/);
        await written.waitFor();
        await card(page, "small/generator@1").getByRole("button", { name: /^Train from/ }).click();
        await page.getByRole("heading", { name: "New run" }).waitFor();
        await page.goBack();
        await written.first().waitFor();
        assert.equal(await written.count(), 1);
      });

      await step("a checkpoint is exported, and the new model deleted", async () => {
        const one = card(page, "small/generator@1");
        await one.getByRole("button", { name: /^Export/ }).click();
        await one.getByLabel("Name of the new model").fill("mine");
        await one.getByRole("button", { name: "Write it" }).click();
        await one.getByText(/Written to .*models\/mine/).waitFor();
        const mine = page.getByRole("article", { name: /models\/mine$/ });
        await mine.getByRole("link", { name: /^Train from/ }).waitFor();
        await mine.getByRole("link", { name: /^Chat/ }).click();
        await page.getByLabel("Message").fill("cat dog");
        await button(page, "Send").click();
        await page.locator(".turn[aria-busy=false]").waitFor();
        await page.goBack();
        await mine.getByRole("button", { name: /^Delete/ }).click();
        await isFlawless(page, "question");
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
        await mine.waitFor({ state: "detached" });
        assert.equal(await page.evaluate("document.activeElement.id"), "main");
        // What was said with it can be read, and it is said that it has gone.
        await page.getByRole("link", { name: "Chat", exact: true }).click();
        const gone = page.getByRole("option", { name: /mine, which has gone$/ });
        await gone.waitFor({ state: "attached" });
        await page.getByLabel("Model").selectOption(await gone.getAttribute("value") ?? "");
        await page.getByText(/There is no model .*models\/mine any more/).waitFor();
        assert.equal(await page.locator(".turn .said .text").innerText(), "cat dog");
        assert(await button(page, "Send").isDisabled());
        await isFlawless(page, "chat with a model that has gone");
        const other = page.getByRole("option", { name: new RegExp(`${GENERATOR}$`) });
        await page.getByLabel("Model").selectOption(await other.getAttribute("value") ?? "");
        await page.getByText("cat dog").waitFor({ state: "detached" });
      });

      await step(
        "a file is uploaded, its columns are named, and a run is begun on it",
        async () => {
          await page.getByRole("link", { name: "Data", exact: true }).click();
          const file = {
            name: "my sums.csv",
            mimeType: "text/csv",
            buffer: Buffer.from(SUMS),
          };
          await page.getByLabel("File", { exact: true }).first().setInputFiles(file);
          await button(page, "Upload").click();
          await page.getByRole("heading", { name: "my-sums" }).waitFor();
          await page.getByRole("cell", { name: "3+3" }).waitFor();
          await page.getByLabel(/^Problem/).selectOption("Problem");
          await page.getByLabel(/^Answer:/).selectOption("Result");
          await page.getByLabel(/^Solution:/).selectOption("How");
          await button(page, "Check").click();
          await page.getByText("All 60 rows were read. None stops a run.").waitFor();
          await isFlawless(page, "data");
          const link = page.getByRole("link", { name: "Fine-tune on it" });
          const address = new URLSearchParams(await link.getAttribute("href") ?? "");
          const [entry] = JSON.parse(address.get("data") ?? "").train;
          assert.match(entry.path, /data\/my-sums$/);
          assert.deepEqual(entry.columns, {
            ...{ question: "Problem", answer: "Result", solution: "How" },
          });
          await link.click();
          await page.getByText("question: Problem").waitFor();
          // What was said of the columns holds wherever the data set is chosen.
          await page.getByRole("link", { name: "New run" }).click();
          await page.goto("/?screen=start");
          const data = page.getByLabel("Data", { exact: true });
          await data.locator("option", { hasText: "my-sums" }).waitFor({ state: "attached" });
          await data.selectOption(entry.path);
          await page.getByText("question: Problem · answer: Result").waitFor();
          await page.goto("/?screen=data&set=my-sums");
          await page.getByRole("heading", { name: "my-sums" }).waitFor();
          // A second file of that name is refused unless it is to give way.
          await page.getByLabel("File", { exact: true }).first().setInputFiles(file);
          await button(page, "Upload").click();
          await page.getByRole("alert").filter({ hasText: "already" }).waitFor();
          await button(page, /^Delete/).click();
          await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
          await page.getByRole("heading", { name: "my-sums" }).waitFor({ state: "detached" });
        },
      );

      await step("what a preset names and is not here is said at once, and fetched", async () => {
        const files = { "main/train.csv": SUMS, "readme.csv": SUMS };
        await using hub = new FakeHub("openai/gsm8k", files, "dataset");
        Deno.env.set("HF_ENDPOINT", hub.endpoint);
        try {
          await page.goto(`/?screen=start&preset=qwen2.5-0.5b&model=${GENERATOR}`);
          await button(page, "Start").click();
          await button(page, "Fetch Qwen/Qwen2.5-0.5B from the Hub").waitFor();
          const [verifier, data] = ["verifier.model", "data"].map((key) =>
            page.locator(`[id="problem-${key}"]`)
          );
          assert.match(await verifier.innerText(), /there is no such file or folder/);
          assert.match(
            await data.innerText(),
            /data\.train\[0\]\.path[^]*data\.held_out\[0\]\.path/,
          );
          await isFlawless(page, "missing");
          await button(page, "Fetch openai/gsm8k from the Hub").click();
          await page.getByText("openai/gsm8k: here").waitFor();
          // Another one, by a person's own words.
          await page.getByRole("link", { name: "Data", exact: true }).click();
          await page.getByRole("link", { name: "Look at it" }).click();
          await page.getByRole("heading", { name: "gsm8k" }).waitFor();
          await page.getByText("main/train.csv").first().waitFor({ state: "attached" });
          await page.getByLabel("Fetch from the Hugging Face Hub").fill("openai/none");
          await button(page, "Fetch").click();
          await page.getByRole("alert").filter({ hasText: "openai/none" }).waitFor();
          await isFlawless(page, "fetched");
        } finally {
          Deno.env.delete("HF_ENDPOINT");
        }
      });
    });
  },
});
