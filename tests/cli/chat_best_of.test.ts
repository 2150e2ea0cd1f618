/** `chat --best-of`: which of several replies is said. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { COMMANDS } from "../../src/cli/commands.ts";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { chattingRun } from "./chatting_run.ts";
import { runCaptured } from "./run_captured.ts";

Deno.test({
  name: "chat --best-of: the reply that generate finds best, by a verifier or by log-prob",
  // A device keeps timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const folder = Deno.makeTempDirSync();
    try {
      const run = chattingRun(folder);
      const call = async (code: number, command: string, ...args: string[]) => {
        const sampling = ["--temperature", "1.3", "--max-length", "60", "--best-of", "6"];
        const { printed, code: ended } = await runCaptured(COMMANDS, [
          ...[command, "harbor quiet lemon", "--model", run.generator, ...sampling, ...args],
        ]);
        assert.equal(ended, code, printed);
        return printed;
      };
      const answer = (printed: string) =>
        printed.split("\n").find((line) => line.startsWith("<think>"));
      const chosen = new Set<string | undefined>();
      for (const by of [["--verifier", run.verifier], []]) {
        const measure = by.length > 0 ? "P(CORRECT)" : "log-prob per token";
        const expected = answer(await call(0, "generate", ...by));
        const said = await call(0, "chat", "--top-p", "1", ...by);
        assert.equal(answer(said), expected, said);
        assert.ok(said.includes(`the best of several: ${measure}`), said);
        chosen.add(expected);
      }
      assert.equal(chosen.size, 2, "both rules choose the same: only one of them is tested");

      const elsewhere = join(PROJECT_FOLDER, "weights/last-letter/verifier");
      assert.match(
        await call(2, "chat", "--verifier", elsewhere),
        /comes from no run and no fine-tuning/,
      );
      assert.match(await call(2, "chat", "--temperature", "0"), /the same reply 6 times/);
      assert.match(await call(2, "chat", "--rewrites", "1"), /name its folder with --verifier/);
      const likeliest = ["--verifier", run.verifier, "--rewrites", "1", "--temperature", "0"];
      assert.match(await call(2, "chat", ...likeliest), /writes a step again as it was/);
      // Nothing is flagged by this verifier: it says what it said.
      const rewritten = await call(0, "chat", "--verifier", run.verifier, "--rewrites", "1");
      assert.equal(answer(rewritten), answer(await call(0, "chat", "--verifier", run.verifier)));
      const { printed, code } = await runCaptured(COMMANDS, [
        ...["chat", "harbor quiet lemon", "--model", run.generator, "--verifier", run.verifier],
      ]);
      assert.equal(code, 2, printed);
      assert.match(printed, /add --best-of 8/);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});
