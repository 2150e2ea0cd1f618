import assert from "node:assert/strict";
import { WithoutLauncherWords } from "../../../src/cli/ranks/launcher_words.ts";

const rule = "-".repeat(74);
const openMpi = `${rule}
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
${rule}
${rule}
mpiexec.openmpi detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[16503,1],0]
  Exit code:    2
${rule}
`;
const equals = "=".repeat(83);
const mpich = `
${equals}
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 11364 RUNNING AT vm
=   EXIT CODE: 9
${equals}
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
`;

/** What is shown of a text that comes in parts of a length. */
async function shown(text: string, length: number): Promise<string> {
  const parts = text.match(new RegExp(`.{1,${length}}`, "gs")) ?? [];
  let out = "";
  for await (const part of ReadableStream.from(parts).pipeThrough(new WithoutLauncherWords())) {
    out += part;
  }
  return out;
}

Deno.test("launcher's words are left out, in whatever parts they come", async () => {
  for (const words of [openMpi, mpich]) {
    for (const length of [1, 2, 7, 75, 100, 10_000]) {
      assert.equal(await shown(`before\n${words}after`, length), "before\nafter");
    }
  }
});

Deno.test("what ranks print is left as it is, rules and empty lines too", async () => {
  const text = `\n| a |\n|---|\n${rule}\nmine\n${rule}\n\n=====\n\rstep 1\n\n${equals}`;
  for (const length of [1, 3, 10_000]) assert.equal(await shown(text, length), text);
});

Deno.test("a line that is not yet whole is shown at once", async () => {
  const filter = new WithoutLauncherWords();
  const writer = filter.writable.getWriter(), reader = filter.readable.getReader();
  void writer.write("\x1b[2Kstep 1 of 2");
  assert.equal((await reader.read()).value, "\x1b[2Kstep 1 of 2");
  await Promise.all([reader.read(), writer.close()]);
});
