import assert from "node:assert/strict";
import { join } from "node:path";
import type { Mpiexec } from "../../../src/cli/ranks/mpiexec.ts";
import { runRanks, testEachLibrary } from "../../distributed/mpi/installations.ts";
import { gone } from "../../distributed/mpi/processes.ts";

const PROGRAM = new URL("./count_program.ts", import.meta.url).pathname;
const RANKS = 3;
/** Processes that begin together would say that they queue to see whether what they use is installed. */
const INSTALLED = "--node-modules-dir=manual";

/** A program that counts on three ranks. */
interface Counting {
  /** The process that --ranks was said to. */
  readonly pid: number;
  /** Those of the ranks. */
  readonly ranks: readonly number[];
  /** Waits for a word on either output. */
  until(word: string): Promise<void>;
}

/** The command that counts, which finds a launcher in a folder. */
function commandFor(mpiexec: Mpiexec, how: string, folder: string): Deno.Command {
  const wrapper = `#!/bin/sh\nexec ${mpiexec.path} "$@"\n`;
  Deno.writeTextFileSync(join(folder, "mpiexec"), wrapper, { mode: 0o755 });
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "-A", INSTALLED, PROGRAM, "count", "--ranks", `${RANKS}`, how],
    env: { PATH: `${folder}:${Deno.env.get("PATH")}` },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Starts the program, does something while it counts, and gives what came of it. No rank may be left afterwards. */
async function counting(
  mpiexec: Mpiexec,
  how: string,
  meanwhile: (counting: Counting) => Promise<void> | void = () => {},
): Promise<{ code: number; printed: string }> {
  const folder = Deno.makeTempDirSync();
  const child = commandFor(mpiexec, how, folder).spawn();
  // Apart: what is said on one may come between two lines of the other.
  const said = { stdout: "", stderr: "" };
  let changed = Promise.withResolvers<void>();
  const read = async (name: keyof typeof said) => {
    for await (const text of child[name].pipeThrough(new TextDecoderStream())) {
      said[name] += text;
      changed.resolve();
      changed = Promise.withResolvers();
    }
  };
  const reading = Promise.all([read("stdout"), read("stderr")]);
  const printed = () => said.stdout + said.stderr;
  let ended = false;
  void reading.then(() => ended = true);
  const until = async (word: string) => {
    while (!printed().includes(word)) {
      assert.ok(!ended, `it ended without saying ${word}: ${printed()}`);
      await Promise.race([changed.promise, reading]);
    }
  };
  await until("going");
  const ranks = (/^3 ranks: (.*)$/m.exec(printed())?.[1] ?? "").split(" ").map(Number);
  assert.equal(ranks.length, RANKS, printed());
  await meanwhile({ pid: child.pid, ranks, until });
  const { code } = await child.status;
  await reading;
  for (const pid of ranks) await gone(pid);
  Deno.removeSync(folder, { recursive: true });
  return { code, printed: printed().replace(/^3 ranks: .*\ngoing\n/m, "") };
}

testEachLibrary("--ranks: only rank 0 prints, and the exit code is its own", async (mpiexec) => {
  assert.deepEqual(await counting(mpiexec, "short"), { code: 0, printed: "done\n" });
});

testEachLibrary("--ranks: a mistake of the user is said once, exit 2", async (mpiexec) => {
  const found = await counting(mpiexec, "user error");
  assert.deepEqual(found, { code: 2, printed: "a file is missing\n" });
});

testEachLibrary(
  "--ranks: other ranks than those that were started are refused once",
  async (mpiexec) => {
    const count = [PROGRAM, "count", "--ranks", "3", "short"];
    const { code, printed } = await runRanks(mpiexec, 2, count);
    assert.equal(
      printed.match(/^--ranks 3 does not fit the 2 ranks that .* started\./gm)?.length,
      1,
    );
    assert.equal(code, 2);
  },
);

testEachLibrary("--ranks: what ends another rank names it, exit 1", async (mpiexec) => {
  const { code, printed } = await counting(mpiexec, "failure on 1");
  assert.equal(printed, `rank 1 on ${Deno.hostname()}: a GPU gave out\n`);
  assert.equal(code, 1);
});

testEachLibrary(
  "--ranks: the first Ctrl-C stops all ranks after the step, exit 130",
  async (mpiexec) => {
    const { code, printed } = await counting(
      mpiexec,
      "long",
      ({ pid }) => Deno.kill(pid, "SIGINT"),
    );
    assert.match(printed, /^stopped at \d+\nStopping after this step; .*\n$/);
    assert.equal(code, 130);
  },
);

testEachLibrary("--ranks: SIGTERM stops all ranks after the step, exit 143", async (mpiexec) => {
  const { code, printed } = await counting(mpiexec, "long", ({ pid }) => Deno.kill(pid, "SIGTERM"));
  assert.match(printed, /^stopped at \d+\nStopping after this step; .*\n$/);
  assert.equal(code, 143);
});

testEachLibrary("--ranks: the second Ctrl-C ends all ranks at once", async (mpiexec) => {
  const { code, printed } = await counting(mpiexec, "deaf", async ({ pid, until }) => {
    Deno.kill(pid, "SIGINT");
    await until("Stopping");
    await new Promise((resolve) => setTimeout(resolve, 400));
    Deno.kill(pid, "SIGINT");
  });
  assert.match(printed, /^Stopping after this step; .*\n$/);
  assert.equal(code, 130);
});

testEachLibrary("--ranks: a rank that is killed ends all with one message", async (mpiexec) => {
  const { code, printed } = await counting(
    mpiexec,
    "long",
    ({ ranks }) => Deno.kill(ranks[1], "SIGKILL"),
  );
  assert.match(
    printed,
    /^rank 1 \(process \d+\) was killed (or crashed|\(signal 9\)), which ended all ranks\.\n$/,
  );
  assert.equal(code, 1);
});

/** What is said when rank 1 sends itself a signal before it has joined the others. */
const early = {
  SIGKILL:
    /^rank 1 \(process \d+\) was killed (or crashed|\(signal 9\)) before the ranks had joined, (which|and rank) /,
  SIGSTOP:
    /^rank 1 \(process \d+\) was stopped before the ranks had begun, which ended all of them\.\n$/,
};
for (const [signal, said] of Object.entries(early)) {
  testEachLibrary(
    `--ranks: ${signal} before all have joined ends them and says who`,
    async (mpiexec) => {
      const folder = Deno.makeTempDirSync();
      const { code, stderr } = await commandFor(mpiexec, signal, folder).output();
      const printed = new TextDecoder().decode(stderr);
      assert.match(printed, said);
      assert.equal(code, 1);
      await gone(Number(/process (\d+)/.exec(printed)?.[1]));
      Deno.removeSync(folder, { recursive: true });
    },
  );
}

testEachLibrary("--ranks: no rank outlives the process that it was said to", async (mpiexec) => {
  const { code } = await counting(mpiexec, "deaf", ({ pid }) => Deno.kill(pid, "SIGKILL"));
  assert.equal(code, 137);
});

testEachLibrary("--ranks: nor one that is stopped", async (mpiexec) => {
  await counting(mpiexec, "long", ({ pid, ranks }) => {
    Deno.kill(ranks[2], "SIGSTOP");
    Deno.kill(pid, "SIGKILL");
  });
});

testEachLibrary("--ranks: nor mpiexec, when that is killed", async (mpiexec) => {
  const { code, printed } = await counting(mpiexec, "deaf", ({ pid, ranks }) => {
    let launcher = ranks[0];
    while (parentOf(launcher) !== pid) launcher = parentOf(launcher);
    Deno.kill(launcher, "SIGKILL");
  });
  assert.match(printed, /was killed \(SIGKILL\), which ended all ranks\.\n$/);
  assert.equal(code, 1);
});

function parentOf(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}
