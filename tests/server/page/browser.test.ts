import assert from "node:assert/strict";
import { join } from "node:path";
import type { Page, Response } from "playwright-core";
import { parse } from "yaml";
import type { MetricsTable } from "../../../src/server/index/read_metrics.ts";
import type { Sample } from "../../../src/run/store/samples_log.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "./chromium.ts";
import { logged, type Measured, trainedSteps } from "./logged.ts";
import { PATIENCE_MS, withPage } from "./with_page.ts";

/** What makes the preset's steps small; and both policies are trained from the beginning. */
const SMALL = {
  "rollout.batch_size": "2",
  "rollout.group_size": "2",
  "schedule.generator_warmup_steps": "0",
  "schedule.verifier_warmup_steps": "0",
  "schedule.generator_steps": "1",
  "schedule.test_frequency": "0",
  "evaluation.problems": "2",
};

const state = (page: Page) => page.locator(".run-header .badge");
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

async function typeSmall(page: Page): Promise<void> {
  for (const [key, value] of Object.entries(SMALL)) {
    await page.locator(`[id="field-${key}"]`).fill(value);
  }
}

async function reaches(page: Page, wanted: RegExp): Promise<void> {
  await state(page).filter({ hasText: wanted }).waitFor();
}

async function stepShown(page: Page): Promise<number> {
  const text = await page.locator(".run-header .where").innerText();
  return Number(/step (\d+)/.exec(text)?.[1]);
}

async function passes(page: Page, step: number): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!(await stepShown(page) > step)) {
    assert(Date.now() < end, `the page shows no step after ${step}`);
    await page.waitForTimeout(100);
  }
}

const POLICIES = ["generator", "verifier"];

/** How many points of each policy's reward the page has been given. */
async function pointsGiven(page: Page): Promise<number[]> {
  const response: Response = await page.waitForResponse(/\/metrics\?/);
  const { series }: MetricsTable = await response.json();
  return POLICIES.map((policy) =>
    (series[`${policy}/reward`] ?? []).filter((value) => value !== null).length
  );
}

/** What is drawn of the rewards, and the last step that its keyboard reading has. */
async function drawn(page: Page): Promise<{ picture: string; last: number }> {
  const chart = page.locator("figure").filter({ hasText: "mean of the step's responses" });
  await chart.locator(".plot").press("End");
  const said = await chart.locator(".at").filter({ hasText: /step \d/ }).innerText();
  const picture: string = await chart.locator("canvas").evaluate((canvas) =>
    Reflect.apply(Reflect.get(canvas, "toDataURL"), canvas, []) as string
  );
  return { picture, last: Number(/\d+/.exec(said)?.[0]) };
}

Deno.test({
  name:
    `page: a run is started, watched, changed, paused, stopped and resumed in a browser${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(test) {
    await withPage({}, async (page, root) => {
      const folder = join(root, "first");
      // What comes after a step that failed could only fail too.
      const step = async (name: string, body: () => Promise<void>) =>
        assert(await test.step(name, body), name);
      const isFlawless = async (view: string) =>
        assert.deepEqual(await axeViolations(page), [], view);

      await step("started with the form that the schema makes", async () => {
        await page.getByText("No runs yet").waitFor();
        await isFlawless("no runs");
        await page.getByRole("link", { name: "Models" }).click();
        await page.getByRole("heading", { name: "weights/last-letter/generator" }).waitFor();
        await isFlawless("models");
        await page.getByRole("link", { name: "API", exact: true }).click();
        await page.locator("summary").filter({ hasText: "/api/verify" }).click();
        await page.getByText("curl -X POST").filter({ visible: true }).waitFor();
        await isFlawless("API");
        await page.goBack();
        await page.goBack();
        await page.getByRole("link", { name: "Start a run" }).click();
        await page.getByLabel("Preset").selectOption("last-letter");
        await page.getByLabel("Name", { exact: true }).fill("first");
        await page.getByLabel("Steps", { exact: true }).fill("100000");
        for (const name of ["All settings", "schedule", "evaluation"]) {
          await page.locator("summary").getByText(name, { exact: true }).click();
        }
        await typeSmall(page);
        // All that is wrong is said where it is, in sections that are closed too.
        const batch = page.locator('[id="field-rollout.batch_size"]');
        await batch.fill("-3");
        await page.locator('[id="field-evaluation.problems"]').fill("-4");
        await page.locator("summary").filter({ hasText: /^evaluation/ }).click();
        await page.locator("summary").filter({ hasText: "All settings" }).click();
        await button(page, "Start").click();
        await page.getByRole("alert").filter({ hasText: "batch_size is -3" }).waitFor();
        await page.getByRole("alert").filter({ hasText: "evaluation.problems is -4" }).waitFor();
        assert(await batch.evaluate((field) => field === field.ownerDocument.activeElement));
        await isFlawless("start");
        await typeSmall(page);
        await button(page, "Start").click();
        await reaches(page, /running/);
        assert.match(page.url(), /\?run=first/);
        // The run has what was typed, and the rest from the preset.
        const { rollout, schedule, seed } = parse(
          Deno.readTextFileSync(join(folder, "config.yaml")),
        );
        assert.deepEqual([rollout.batch_size, rollout.group_size, seed], [2, 2, 0]);
        assert.equal(schedule.total_training_steps, 100_000);
      });

      await step("both policies' curves move", async () => {
        const reward = page.locator("figure").filter({ hasText: "Reward" }).first();
        for (const policy of POLICIES) {
          await reward.locator(".legend li").filter({ hasText: policy })
            .filter({ hasText: /\d/ }).waitFor();
        }
        const before = await drawn(page);
        const given = await pointsGiven(page);
        for (let now = given; !now.every((count, policy) => count > given[policy]);) {
          now = await pointsGiven(page);
        }
        let after = await drawn(page);
        while (after.last <= before.last) after = await drawn(page);
        assert.notEqual(after.picture, before.picture);
        await isFlawless("curves");
      });

      await step("a sample opens, and its critique", async () => {
        await page.getByRole("tab", { name: "Samples" }).click();
        // One whose steps were judged, each by its own judgment.
        const judged = page.locator(".solution-step.right, .solution-step.wrong").first();
        await judged.click();
        const critique = page.locator(".of-step").filter({ hasText: /Of step \d+/ });
        const [, words] = /Of step \d+: ([^]+)/.exec(await critique.innerText()) ?? [];
        const isRight = /\bright\b/.test(await judged.getAttribute("class") ?? "");
        assert.match(words, isRight ? /\\boxed\{CORRECT\}/ : /\\boxed\{INCORRECT\}/);
        // The step and the words about it are of one sample that the run wrote.
        const step = (await judged.innerText()).replace(/^[✓✗]\s*/, "");
        assert(
          logged<Sample>(folder, "samples.jsonl").some(({ steps, critiques }) =>
            steps.includes(step) && critiques.some(({ text }) => text.includes(words.trim()))
          ),
          `${step}: ${words}`,
        );
        await isFlawless("samples");
      });

      await step("a learning rate changes while it runs", async () => {
        await page.getByRole("tab", { name: "Settings" }).click();
        const rate = page.getByLabel("generator.optimizer.learning_rate");
        await rate.fill("-1");
        await button(page, "Change from the next step on").click();
        await page.getByRole("alert").filter({ hasText: "learning_rate" }).waitFor();
        await rate.fill("0.00001");
        await button(page, "Change from the next step on").click();
        const said = page.getByText(/from step \d+: generator.optimizer.learning_rate = 0.00001/);
        const since = Number(/step (\d+)/.exec(await said.innerText())?.[1]);
        await page.getByRole("row", {
          name: `generator.optimizer.learning_rate 0.00001 since step ${since}`,
        }).waitFor();
        await isFlawless("settings");
        // It is in force in the run's own record from that step on, and was not before.
        const rates = () =>
          logged<Measured>(folder, "metrics.jsonl").filter(({ phase }) => phase === "generator")
            .map((line) => [line.step, line["generator/learning_rate"]]);
        while (!rates().some(([step]) => step >= since)) await page.waitForTimeout(100);
        for (const [step, value] of rates()) {
          assert.equal(value > 0 && value <= 1e-5, step >= since, `${value} in step ${step}`);
        }
      });

      await step("pauses, and still after a reload; goes on", async () => {
        await button(page, "Pause").click();
        await reaches(page, /paused/);
        const before = await stepShown(page);
        const written = trainedSteps(folder);
        assert.equal(written.at(-1), before);
        await page.reload();
        await reaches(page, /paused/);
        assert.equal(
          await page.getByRole("tab", { name: "Settings" }).getAttribute("aria-selected"),
          "true",
        );
        assert.equal(await stepShown(page), before);
        assert.deepEqual(trainedSteps(folder), written);
        await button(page, "Go on").click();
        await reaches(page, /running/);
        await passes(page, before);
      });

      await step("stops and saves; resumes where it was", async () => {
        await button(page, "Stop and save").click();
        await reaches(page, /stopped/);
        const before = await stepShown(page);
        await page.getByRole("tab", { name: "Checkpoints" }).click();
        await page.getByRole("heading", { name: `Step ${before}`, exact: true }).waitFor();
        await isFlawless("checkpoints");
        assert(Deno.statSync(join(folder, "checkpoints")).isDirectory);
        await button(page, "Resume").click();
        await reaches(page, /running/);
        await passes(page, before);
        // Every step once, in order: nothing was lost or done again.
        const steps = trainedSteps(folder);
        assert.deepEqual(steps, steps.map((_, place) => place + 1));
        assert(steps.length > before);
      });

      await step("its policies are asked, and their words judged step by step", async () => {
        await page.getByRole("link", { name: "Verify" }).click();
        await page.getByRole("textbox", { name: "Problem" }).fill("cat dog");
        await page.getByRole("textbox", { name: "Solution" }).fill(
          "<think><step>cat:t</step><step>dog:g</step></think><answer>\\boxed{tg}</answer>",
        );
        await button(page, "Verify").click();
        await page.locator(".judged .solution-step").nth(1).waitFor();
        await page.locator(".judged").getByText("verifier says").waitFor();
        await isFlawless("verify");
        await page.goBack();
      });

      await step("a benchmark is made, read beside an earlier one and deleted", async () => {
        await page.getByRole("link", { name: "Benchmarks" }).click();
        await page.getByLabel("Only kernels with", { exact: true }).fill("gemm_nt/tiny");
        await page.getByLabel("Seconds for each").fill("0");
        await button(page, "Start").click();
        await page.locator('[aria-invalid="true"][id="bench-seconds"]').waitFor();
        await page.getByLabel("Seconds for each").fill("0.001");
        await button(page, "Start").click();
        await page.getByRole("row", { name: /gemm_nt tiny .* GFLOP\/s \d+.* % right/ }).waitFor();
        await page.waitForURL(/bench=bench-001/);
        await page.getByLabel("Beside").selectOption("lavapipe-native");
        await page.getByText(/Beside lavapipe-native: \d faster, \d slower, \d the same/).waitFor();
        await page.reload();
        await page.getByRole("row", { name: /gemm_nt tiny .* × (faster|slower|same)/ }).waitFor();
        await isFlawless("benchmarks");
        await button(page, "Delete").click();
        await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
        await page.getByRole("link", { name: "bench-001" }).waitFor({ state: "detached" });
        await page.getByRole("link", { name: "Runs", exact: true }).click();
      });

      await step("is killed only when asked twice, and every view is without fault", async () => {
        await button(page, "Kill").click();
        await isFlawless("question");
        await page.getByRole("dialog").getByRole("button", { name: "Kill" }).click();
        await reaches(page, /killed/);
        for (const name of ["Verifier", "Timeline", "Memory", "Events"]) {
          await page.getByRole("tab", { name }).click();
          await page.waitForLoadState("networkidle").catch(() => {});
          await isFlawless(name);
        }
      });
    });
  },
});
