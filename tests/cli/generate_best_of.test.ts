/** `generate --best-of`: which of several answers are printed. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { runCaptured } from "./run_captured.ts";

const weights = (name: string) => join(PROJECT_FOLDER, "weights/last-letter", name);

async function generate(code: number, ...args: string[]): Promise<string> {
  const model = ["--model", weights("generator"), "--temperature", "1.3", "--max-length", "60"];
  const result = await runCaptured(COMMANDS, ["generate", "cat dog", ...model, ...args]);
  assert.equal(result.code, code, result.printed);
  return result.printed;
}

/** The answers under their headings. */
function answersOf(printed: string): { heading: string; text: string }[] {
  return [...printed.matchAll(/^# (.*)\n(.*)$/gm)].map(([, heading, text]) => ({ heading, text }));
}

Deno.test({
  name: "generate --best-of: the answers of --count, the best first, by a verifier or by log-prob",
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const plain = answersOf(await generate(0, "--count", "6")).map(({ text }) => text);
    assert.ok(new Set(plain).size > 2, "the answers are alike: nothing is tested");
    const judge = ["--verifier", weights("verifier")];
    for (const by of [judge, []]) {
      const all = answersOf(await generate(0, "--best-of", "6", "--count", "6", ...by));
      assert.deepEqual(all.map(({ text }) => text).sort(), plain.toSorted());
      const name = by.length > 0 ? "P\\(CORRECT\\)" : "log-prob per token";
      const scores = all.map(({ heading }, i) => {
        const said = new RegExp(`^${i + 1} of 6: ${name} (-?[\\d.]+)$`).exec(heading);
        assert.ok(said, heading);
        return Number(said[1]);
      });
      assert.deepEqual(scores, scores.toSorted((a, b) => b - a));
      // A greedy critique says the same of the same text.
      if (by.length > 0) assert.equal(new Set(scores).size, new Set(plain).size);
      const best = answersOf(await generate(0, "--best-of", "6", "--count", "2", ...by));
      assert.deepEqual(best, all.slice(0, 2));
    }
    assert.match(await generate(2, ...judge), /add --best-of 8/);
    assert.match(await generate(2, "--best-of", "2", "--count", "3"), /expected at least the 3/);
    assert.match(await generate(2, "--best-of", "2", "--critiques", "2"), /name its folder/);
    assert.match(await generate(2, "--best-of", "2", "--raw", ...judge), /has no question/);
  },
});
