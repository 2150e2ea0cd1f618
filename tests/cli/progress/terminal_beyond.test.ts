import assert from "node:assert/strict";
import { noted } from "../../../src/cli/ranks/launch_notes.ts";

const PROGRAM = `
import { standardError } from "${
  import.meta.resolve("../../../src/cli/progress/progress_line.ts")
}";
const output = standardError();
console.log(output.isTerminal);
output.rewrite("one two three four");
output.rewrite("five");
output.finish();
`;

/** What a process with pipes for output prints. */
async function run(env: Record<string, string>): Promise<{ out: string; error: string }> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", PROGRAM],
    env,
  }).output();
  const [out, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { out, error };
}

Deno.test("progress: a rank draws for the terminal behind its launcher, as wide as that is", async () => {
  const notes = noted({ socket: "", terminal: { columns: 10, rows: 5 } });
  const { out, error } = await run(notes);
  assert.equal(out, "true\n");
  // Three lines of at most ten columns, which the second call erases.
  assert.match(error, /^one two th\nree four\n/);
  assert.equal(error.split("\x1b[2K").length - 1, 3);
});

Deno.test("progress: without a terminal there none is taken for one", async () => {
  assert.equal((await run(noted({ socket: "", terminal: null }))).out, "false\n");
  assert.equal((await run({})).out, "false\n");
});
