import assert from "node:assert/strict";
import { exists } from "../../src/platform/files/atomic_file.ts";
import type { InterruptSignal } from "../../src/cli/interrupt.ts";

const PROGRAM = new URL("./interrupted_program.ts", import.meta.url).pathname;

/** Runs the program, sends the signal at each expected word, and gives its output and exit status. */
async function interrupted(
  signal: InterruptSignal,
  args: string[],
  signalAfter: string[],
): Promise<{ output: string; code: number }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", PROGRAM, ...args],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let output = "";
  const read = async (stream: ReadableStream<Uint8Array>) => {
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
      output += chunk;
      while (signalAfter.length > 0 && output.includes(signalAfter[0])) {
        if (signalAfter.shift() === "Stopping") await new Promise((done) => setTimeout(done, 400));
        child.kill(signal);
      }
    }
  };
  await Promise.all([read(child.stdout), read(child.stderr)]);
  return { output, code: (await child.status).code };
}

for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const) {
  Deno.test(`interrupt: the first ${signal} lets the step finish and save, exit ${code}`, async () => {
    const found = await interrupted(signal, [], ["ready"]);
    assert.match(found.output, /Stopping after this step/);
    assert.match(found.output, /saved/);
    assert.equal(found.code, code);
  });

  Deno.test(`interrupt: a second ${signal} ends the process at once, exit ${code}`, async () => {
    const found = await interrupted(signal, ["", "deaf"], ["ready", "Stopping"]);
    assert.doesNotMatch(found.output, /saved/);
    assert.equal(found.code, code);
  });
}

Deno.test("interrupt: one signal delivered twice counts once", async () => {
  const { output, code } = await interrupted("SIGINT", [], ["ready", "ready"]);
  assert.match(output, /saved/);
  assert.equal(code, 130);
});

Deno.test("interrupt: a run whose terminal hangs up saves, exit 129", async () => {
  const hangUp = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
said = b""
while b"ready" not in said: said += os.read(terminal, 1000)
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`;
  const folder = Deno.makeTempDirSync();
  try {
    const file = `${folder}/saved`;
    const { stdout } = await new Deno.Command("python3", {
      args: ["-c", hangUp, Deno.execPath(), "run", "-A", "--no-check", PROGRAM, file],
      stderr: "inherit",
    }).output();
    assert.equal(new TextDecoder().decode(stdout).trim(), "129");
    assert.ok(exists(file));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("interrupt: under nohup a lost terminal stops nothing", async () => {
  const child = new Deno.Command("nohup", {
    args: [Deno.execPath(), "run", "-A", "--no-check", PROGRAM],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const errors = new Response(child.stderr).text();
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    if (!text.includes("ready")) continue;
    child.kill("SIGHUP");
    await new Promise((done) => setTimeout(done, 400));
    child.kill("SIGTERM");
  }
  assert.match(await errors, /Stopping after this step; another SIGTERM/);
  assert.equal((await child.status).code, 143);
});
