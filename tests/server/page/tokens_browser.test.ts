/** Tokens and their colours in a real browser, of a run whose samples are written by hand. */

import assert from "node:assert/strict";
import { packNumbers } from "../../../src/run/store/packed_numbers.ts";
import type { SampleTokens } from "../../../src/run/store/sample_tokens.ts";
import { WrittenRun } from "../written_run.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "./chromium.ts";
import { withPage } from "./with_page.ts";

/** A character of two tokens, a token over a step's end, markup, a line's end, and the end of the response. */
const TOKENS = [
  "<think>",
  "<step>",
  "c<b>",
  "",
  "😀",
  "</step>\n<",
  "step>",
  "dog:g",
  "</step>",
  "",
];
const SOLUTION = TOKENS.join("");
/** Each shade of both signs, and none. */
const ADVANTAGES = [0, 0.3, -0.3, 0.8, -0.8, 1.5, -1.5, 2.5, -2.5, 0.3];
const DIFFERENCES = [0, 2e-4, -0.004, 0.05, -0.3, 0, 2e-4, -0.004, 0.05, -0.3];
const lengths = packNumbers(TOKENS.map(({ length }) => length));

function writeRun(root: string): void {
  const run = new WrittenRun(root, "written");
  const critique = { version: 0, text: "a critique", stepJudgments: [true, false], verdict: true };
  const steps = ["c<b>😀", "dog:g"];
  const tokens = { lengths, advantages: ADVANTAGES, logProbDifferences: DIFFERENCES };
  const solution = { solution: SOLUTION, steps, critiques: [critique] };
  run.sample({ ...solution, problem: "trained", tokens });
  run.sample({ ...solution, problem: "unmeasured", tokens: { lengths, advantages: ADVANTAGES } });
  run.sample({ ...solution, problem: "early" });
  const judged: SampleTokens = {
    ...{ lengths: [1, 9, 0], advantages: [[1.5, 3]], logProbDifferences: [[0, 3]] },
    isLeftOut: true,
  };
  run.sample({
    ...{ ...solution, problem: "judged", phase: "verifier" },
    critiques: [{ ...critique, tokens: judged }],
  });
}

Deno.test({
  name: `page: tokens are coloured, and each one's numbers read${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withPage({ write: writeRun, width: 360, at: "?run=written&view=samples" }, async (page) => {
      const card = (problem: string) =>
        page.locator(".group").filter({ has: page.getByText(problem, { exact: true }) });
      const colour = (value: string) => page.getByLabel("Tokens coloured by").selectOption(value);
      const isFlawless = async (what: string) =>
        assert.deepEqual(await axeViolations(page), [], what);
      const trained = card("trained");
      await trained.waitFor();
      assert.equal(await page.locator(".token").count(), 0);

      await colour("advantage");
      const tokens = trained.locator(".solution .token");
      await tokens.first().waitFor();
      assert.equal((await tokens.allTextContents()).join(""), SOLUTION);
      const classes = await tokens.evaluateAll((spans) => spans.map(({ className }) => className));
      assert.deepEqual(classes.slice(0, 4), [
        ...["token", "token raised-1", "token lowered-1", "token raised-2 textless"],
      ]);
      await card("judged").getByText("left out of the loss").waitFor();
      await card("early").getByText("written before runs kept their tokens").waitFor();
      for (const scheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme: scheme });
        await isFlawless(`advantage, ${scheme}`);
      }

      // By keyboard: a step opens and closes, and the field below goes from token to token.
      const step = trained.getByRole("button", { name: "Step 2, judged incorrect" });
      await step.press("Enter");
      assert.equal(await step.getAttribute("aria-expanded"), "true");
      const reader = trained.getByRole("slider", { name: "Token of the solution" });
      await reader.press("End");
      const told = trained.locator(".token-reader");
      await told.getByText(
        "10 of 10, without a text of its own: advantage +0.3, training − sampling −0.3",
      ).waitFor();
      await reader.press("ArrowLeft");
      assert.equal(
        await reader.getAttribute("aria-valuetext"),
        '9 of 10, "</step>": advantage −2.5, training − sampling +0.05',
      );

      // Who looks from token to token of an open step keeps its critique.
      await tokens.filter({ hasText: "dog:g" }).click();
      await told.getByText('8 of 10, "dog:g": advantage +2.5').waitFor();
      assert.equal(await step.getAttribute("aria-expanded"), "true");
      assert.equal(
        await tokens.filter({ hasText: "dog:g" }).getAttribute("title"),
        "advantage +2.5, training − sampling −0.004",
      );

      await colour("difference");
      await card("unmeasured").getByText("was not measured").waitFor();
      assert.equal(await card("unmeasured").locator(".token").count(), 0);
      const judged = card("judged");
      await judged.getByText("the same log-probability in training as in sampling").waitFor();
      assert.deepEqual(await judged.locator(".token").allTextContents(), ["a", " critique", ""]);
      await isFlawless("difference");
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);
      assert.match(page.url(), /tokens=difference/);
    }),
});
