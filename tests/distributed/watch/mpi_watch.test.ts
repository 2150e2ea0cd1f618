/** The watch beside MPI's launchers, which have their own ways when a process ends. */

import assert from "node:assert/strict";
import { type Mpiexec, startCommand } from "../../../src/cli/ranks/mpiexec.ts";
import { testEachLibrary } from "../mpi/installations.ts";
import { gone } from "../mpi/processes.ts";

const PROGRAM = new URL("./mpi_program.ts", import.meta.url).pathname;

/** Three ranks, of which one gets a signal. @returns what was printed as errors once all have ended */
async function signalled(mpiexec: Mpiexec, rank: number, signal: Deno.Signal): Promise<string> {
  const program = [Deno.execPath(), "run", "--no-check", "-A", PROGRAM];
  const { command, args, env } = startCommand(mpiexec, 3, program);
  const launcher = new Deno.Command(command, {
    ...{ args, env, clearEnv: true },
    ...{ stdin: "null", stdout: "piped", stderr: "piped" },
  }).spawn();
  const errors = new Response(launcher.stderr).text();
  const output = launcher.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) text += (await output.read()).value ?? "\n";
  const processes = text.split(/\s/).filter((word) => word !== "").map(Number);
  assert.equal(processes.length, 3, await Promise.race([errors, text]));
  Deno.kill(processes[rank], signal);
  await output.cancel();
  assert.notEqual((await launcher.status).code, 0);
  for (const process of processes) await gone(process);
  return await errors;
}

for (const rank of [0, 2]) {
  testEachLibrary(`watch: rank ${rank} is stopped, all end and one says so`, async (mpiexec) => {
    const errors = await signalled(mpiexec, rank, "SIGSTOP");
    const words = errors.match(/The run has ended on all ranks because of rank . on .*\n.*/g);
    assert.equal(words?.length, 1, errors);
    assert.match(words[0], new RegExp(`because of rank ${rank} .*\nNot a word for 3 s`));
  });
}

testEachLibrary("watch: a rank is killed and all end", async (mpiexec) => {
  const errors = await signalled(mpiexec, 1, "SIGKILL");
  // MPICH's launcher may be quicker to end rank 0; its own words, elsewhere, then name the signal.
  const words = errors.match(/The run has ended on all ranks because of .*/g) ?? [];
  assert.ok(words.length <= 1, errors);
});
