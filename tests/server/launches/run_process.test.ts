import assert from "node:assert/strict";
import { join } from "node:path";
import { ProgressLine } from "../../../src/cli/progress/progress_line.ts";
import { lastErrorLines, startProcess } from "../../../src/server/launches/run_process.ts";
import { withFolder } from "../written_run.ts";

Deno.test("a process's last words are those of standard error, without how far it was", async () => {
  await withFolder(async (root) => {
    const program = join(root, "program.ts");
    const lines: string[] = [];
    let time = 0;
    const progress = new ProgressLine(2, null, {
      ...{ isTerminal: false, rewrite: () => {}, finish: () => {} },
      ...{ writeLine: (line: string) => lines.push(line), now: () => time += 20_000 },
    });
    for (const step of [1, 2]) {
      progress.update({ step, kind: "sft", status: "loss 1.0", tokensPerSecond: 99 });
    }
    assert.equal(lines.length, 2);
    Deno.writeTextFileSync(
      program,
      `console.log("a table");
      for (const line of ${JSON.stringify(lines)}) console.error(line);
      if (Deno.args.length > 0) console.error("no room\\nfor it");
      console.log("its last line");
      Deno.kill(Deno.pid, "SIGKILL");`,
    );
    // A started process keeps no other alive.
    const awake = setInterval(() => {}, 1000);
    using _asleep = { [Symbol.dispose]: () => clearInterval(awake) };
    const files = { output: join(root, "one.log"), errors: join(root, "one.errors.log") };
    assert.equal(lastErrorLines(files), null);
    assert.equal(await startProcess(program, [], files).ended, 128 + 9);
    assert.equal(lastErrorLines(files), null);
    assert.equal(await startProcess(program, ["loud"], files).ended, 128 + 9);
    assert.equal(lastErrorLines(files), "no room\nfor it");
    assert.equal(Deno.readTextFileSync(files.output), "a table\nits last line\n");
  });
});

Deno.test("a process that the system does not start is an error, and ends nobody", async () => {
  await withFolder(async (root) => {
    const files = { output: join(root, "one.log"), errors: join(root, "one.errors.log") };
    // Longer than an argument may be.
    const start = () => startProcess("program.ts", ["x".repeat(4_000_000)], files);
    assert.throws(start, { name: "Failure", message: /starts no other process/ });
    // What is told of it a moment later is heard.
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.throws(() => startProcess("program.ts", [], { ...files, output: root }), {
      name: "UserError",
      message: /cannot be written/,
    });
  });
});
