/** `generate` asks a run's policies as the run asked them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import { chattingRun } from "./chatting_run.ts";
import { runCaptured } from "./run_captured.ts";

/** A run in whose configuration the generator talks, and the verifier is asked with a file's words. */
function talking(verifierPrompt: string) {
  return (yaml: string): string =>
    yaml
      .replace(
        /^generator:\n/m,
        "generator:\n  chat: true\n  prompt_template: configs/prompts/question.txt\n",
      )
      .replace(/^verifier:\n/m, `verifier:\n  prompt_template: ${verifierPrompt}\n`);
}

Deno.test({
  name: "generate: templates, conversation and length of the run that a model lies in",
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const folder = Deno.makeTempDirSync();
    try {
      const prompt = join(folder, "judge.txt");
      Deno.writeTextFileSync(prompt, "{{ question }} {{ solution }} {{ steps }}");
      const [plain, asked] = ["plain", "asked"].map((name) => {
        const run = join(folder, name);
        Deno.mkdirSync(run);
        return chattingRun(run, name === "asked" ? talking(prompt) : undefined);
      });
      const call = async (model: string, ...args: string[]) => {
        const { printed, code } = await runCaptured(COMMANDS, [
          ...["generate", "harbor quiet lemon", "--model", model, "--temperature", "1.3", ...args],
        ]);
        assert.equal(code, 0, printed);
        return printed;
      };
      // The chat template is the other run's prompt: the same text comes to both, and the same answer back.
      const answers = await call(plain.generator, "--count", "4");
      assert.equal(await call(asked.generator, "--count", "4"), answers);
      // What is said counts: the chat template around the prompt is the prompt twice.
      const template = ["--prompt-template", "configs/prompts/generator.txt"];
      assert.equal(await call(plain.generator, "--count", "4", ...template), answers);
      assert.notEqual(await call(asked.generator, "--count", "4", ...template), answers);

      const judged = (verifier: string, ...args: string[]) =>
        call(plain.generator, "--best-of", "4", "--count", "4", "--verifier", verifier, ...args);
      const own = await judged(asked.verifier);
      assert.notEqual(own, await judged(plain.verifier));
      assert.equal(own, await judged(plain.verifier, "--verifier-prompt", prompt));

      // A run without a verifier does not say how one is asked.
      const alone = join(folder, "alone");
      Deno.mkdirSync(alone);
      const { generator } = chattingRun(
        alone,
        (yaml) => yaml.replace(/^verifier:\n(?: .*\n)+/m, "verifier: null\n"),
      );
      const unasked = ["--best-of", "4", "--verifier", generator];
      const { code, printed } = await runCaptured(COMMANDS, [
        ...["generate", "harbor quiet lemon", "--model", generator, ...unasked],
      ]);
      assert.equal(code, 2);
      assert.match(
        printed,
        /alone.* comes from a run without a verifier, .*--verifier-prompt/,
      );
      await call(generator, ...unasked, "--verifier-prompt", prompt);

      // As long as it may be in the run, which is 5 tokens in the last one.
      const brief = join(folder, "brief");
      Deno.mkdirSync(brief);
      const shortened = chattingRun(
        brief,
        (yaml) => yaml.replace("max_response_length: 80", "max_response_length: 5"),
      );
      assert.match(await call(shortened.generator), /cut off after 5 tokens/);
      assert.doesNotMatch(await call(shortened.generator, "--max-length", "80"), /cut off/);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
