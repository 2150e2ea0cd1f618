/** The best of several completions, by log-prob and by a verifier, against choices made here. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../../src/cli/dev/project.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { COMMANDS } from "../../../src/cli/commands.ts";
import { runCaptured } from "../../cli/run_captured.ts";
import { tinyPolicies, tinyTask } from "../../run/tiny_policies.ts";
import { withFolder } from "../written_run.ts";
import { TINY, type WithModels, withModels } from "./with_models.ts";

const PROMPTS = ["<bos>cat dog?", "<bos>pen sun ox?"];
const EACH = 6;

/** A choice as far as it is compared. */
interface Told {
  readonly text: string;
  readonly token_ids: readonly number[];
  readonly logprobs: { readonly token_logprobs: readonly number[] };
}

const common = {
  ...{ model: "tiny", prompt: PROMPTS, seed: 5, max_tokens: 60 },
  ...{ return_token_ids: true, logprobs: 0, temperature: 1.2 },
};

/** All responses, prompt by prompt. */
async function allOf(ask: WithModels["ask"]): Promise<{ told: Told[]; tokens: number }> {
  const { status, body } = await ask("/v1/completions", { ...common, n: EACH });
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.chosen_by, undefined);
  return { told: body.choices, tokens: body.usage.completion_tokens };
}

/** The texts of the n of highest score to each prompt. */
function bestTexts(told: readonly Told[], scores: readonly number[], n: number): string[] {
  return PROMPTS.flatMap((_, p) =>
    told.map(({ text }, i) => ({ text, i, score: scores[i] }))
      .slice(p * EACH, (p + 1) * EACH)
      .sort((a, b) => b.score - a.score || a.i - b.i)
      .slice(0, n)
      .map(({ text }) => text)
  );
}

Deno.test("best_of: without a verifier the responses of the highest log-prob per token are told, and all are counted", async () => {
  await withModels(async ({ ask }) => {
    const { told, tokens } = await allOf(ask);
    const scores = told.map(({ logprobs: { token_logprobs: each } }) =>
      each.reduce((sum, one) => sum + one, 0) / each.length
    );
    const expected = bestTexts(told, scores, 2);
    assert.notDeepEqual(
      expected,
      PROMPTS.flatMap((_, p) => told.slice(p * EACH, p * EACH + 2).map(({ text }) => text)),
      "the best come first anyway: nothing is tested",
    );
    const { status, body } = await ask("/v1/completions", { ...common, n: 2, best_of: EACH });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.chosen_by, "log_prob");
    assert.deepEqual(body.choices.map(({ text }: Told) => text), expected);
    assert.deepEqual(body.choices.map(({ index }: { index: number }) => index), [0, 1, 2, 3]);
    assert.equal(body.usage.completion_tokens, tokens);
    const echoed = await ask("/v1/completions", { ...common, echo: true, best_of: EACH });
    const [one, other] = bestTexts(told, scores, 1);
    assert.deepEqual(
      echoed.body.choices.map(({ text }: Told) => text),
      [PROMPTS[0] + one, PROMPTS[1] + other],
    );
    const plain = (await ask("/v1/completions", { ...common, n: EACH, best_of: 1 })).body;
    assert.deepEqual([plain.chosen_by, plain.choices.length], [undefined, 2 * EACH]);

    const refusals: [object, RegExp][] = [
      [{ n: 3, best_of: 2 }, /expected at least n, which is 3/],
      [{ best_of: 2, stream: true }, /leave out stream/],
      [{ best_of: 33 }, /./],
      [{ best_of: 0 }, /./],
    ];
    for (const [asked, message] of refusals) {
      const refused = await ask("/v1/completions", { prompt: "a", ...asked });
      assert.equal(refused.status, 400, JSON.stringify(refused.body));
      assert.equal(refused.body.error.param, "best_of");
      assert.match(refused.body.error.message, message);
    }
  });
});

Deno.test("best_of: the verifier beside a run's generator chooses, where the prompts are its questions", async () => {
  await withFolder(async (root) => {
    const template = (name: string) => join(PROJECT_FOLDER, `configs/prompts/${name}.txt`);
    const judge = join(PROJECT_FOLDER, "weights/last-letter/verifier");
    const run = RunFolder.create(join(root, "mine"), {
      task: { name: "last-letter" },
      generator: { model: TINY, prompt_template: template("generator") },
      verifier: {
        ...{ model: judge, prompt_template: template("verifier") },
        max_response_length: 160,
      },
    });
    for (const [from, to] of [[TINY, run.weights("generator")], [judge, run.weights("verifier")]]) {
      Deno.mkdirSync(to);
      for (const { name } of Deno.readDirSync(from)) {
        Deno.copyFileSync(join(from, name), join(to, name));
      }
    }
    await withModels(async ({ ask }) => {
      const { told } = await allOf(ask);
      // The verifier is asked here about each, and P(CORRECT) read off its likeliest tokens.
      const scores: number[] = [];
      for (const [place, { text }] of told.entries()) {
        const question = PROMPTS[Math.floor(place / EACH)].slice("<bos>".length, -1);
        const steps = text.match(/<step>[^]*?<\/step>/g)?.length ?? 0;
        const { body } = await ask("/v1/completions", {
          ...{ model: "judge", prompt: `<bos>${question}?\n${text}\n${steps}?` },
          ...{ temperature: 0, max_tokens: 160, logprobs: 8 },
        });
        const { tokens, top_logprobs } = body.choices[0].logprobs;
        const at = tokens.findLastIndex((one: string) => /^(IN)?CORRECT$/.test(one));
        const isRead = /<final_verification>\\boxed\{(IN)?CORRECT\}<\/final_verification>/
          .test(body.choices[0].text);
        if (!isRead) {
          scores.push(0);
          continue;
        }
        const [right, wrong] = ["CORRECT", "INCORRECT"].map((word) =>
          Math.exp(top_logprobs[at][word] ?? -Infinity)
        );
        scores.push(right / (right + wrong));
      }
      assert.ok(new Set(scores).size > 2, "the verifier says the same of all: nothing is tested");
      const { status, body } = await ask("/v1/completions", { ...common, n: 2, best_of: EACH });
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.chosen_by, "verifier");
      assert.deepEqual(
        body.choices.map(({ text }: Told) => text),
        bestTexts(told, scores, 2),
      );
      const asIds = await ask("/tokenize", { model: "tiny", prompt: PROMPTS[0] });
      const ids = { ...common, prompt: asIds.body.tokens, n: 2, best_of: EACH };
      assert.equal((await ask("/v1/completions", ids)).body.chosen_by, "verifier");
      const other = { ...common, prompt: [PROMPTS[0], "cat dog"], best_of: 2 };
      assert.equal((await ask("/v1/completions", other)).body.chosen_by, "log_prob");
    }, { tiny: run.weights("generator"), judge: run.weights("verifier") });
  });
});

Deno.test("best_of: of a run's checkpoint its verifier of the same step chooses", async () => {
  await withModels(async ({ ask, root }) => {
    const folder = join(root, "short");
    const { code, printed } = await runCaptured(COMMANDS, [
      ...["train", "--config", join(PROJECT_FOLDER, "configs/last-letter.yaml")],
      ...["--run", folder, "--steps", "1", "--set", `task=${JSON.stringify(tinyTask)}`],
      ...["--set", `generator.model=${tinyPolicies.generator}`],
      ...["--set", `verifier.model=${tinyPolicies.verifier}`],
      ...["--set", "generator.max_response_length=40", "--set", "verifier.max_response_length=60"],
      ...["--set", "rollout.batch_size=2", "--set", "rollout.group_size=2"],
      ...["--set", "evaluation.problems=2", "--set", "tuning=default"],
    ]);
    assert.equal(code, 0, printed);
    const asked = { ...common, prompt: "<bos>ab?", max_tokens: 40, best_of: 4 };
    const { status, body } = await ask("/v1/completions", { ...asked, model: "short/generator@1" });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.chosen_by, body.choices.length], ["verifier", 1]);
    // What is asked of the verifier itself is no question of the generator's.
    const other = await ask("/v1/completions", { ...asked, model: "short/verifier@1" });
    assert.equal(other.body.chosen_by, "log_prob");
  });
});
